package dev.interlock.tck.history;

import java.util.StringJoiner;

/**
 * An event of one lease, as its holder saw it.
 *
 * <p>Times are those of {@link System#nanoTime()}. On Linux that is {@code CLOCK_MONOTONIC}, which
 * all processes of a machine share (since the boot, so that it neither overflows nor is negative);
 * events of several JVMs on one Linux machine can therefore be compared. On other systems a history
 * must not span processes.
 *
 * <p>A violation is real only if no lease is recorded as held for longer than it was. Therefore a
 * recorder takes the time of a grant <em>after</em> the acquisition returned, computes the end of
 * validity as a time taken <em>before</em> reading the remaining validity plus that validity, and
 * takes the time of a release <em>before</em> calling it.
 */
public sealed interface Event {

  /** {@return the identity of the lease, unique in the history, such as {@code worker-2/17}} */
  String lease();

  /** {@return when the event was recorded} */
  long at();

  /**
   * An acquisition succeeded.
   *
   * @param lease the lease's identity
   * @param name the lock's name
   * @param token the fencing token, or 0 if the backend has none
   * @param holder the process, client and thread, for people
   * @param requestedAt a time before the acquisition was called
   * @param at a time after it had returned
   * @param validUntil until when the lease is certainly held unless it is renewed
   */
  record Granted(
      String lease,
      String name,
      long token,
      String holder,
      long requestedAt,
      long at,
      long validUntil)
      implements Event {
    @Override
    public String toString() {
      return "lease " + lease + " of " + holder + (token == 0 ? "" : ", token " + token);
    }
  }

  /**
   * The validity of a lease was extended.
   *
   * @param lease the lease's identity
   * @param at when this was recorded
   * @param validUntil until when the lease is certainly held unless it is renewed again
   */
  record Extended(String lease, long at, long validUntil) implements Event {}

  /**
   * The holder stopped relying on the lease, whatever its validity: it is about to release the
   * lease, or has received its loss.
   *
   * @param lease the lease's identity
   * @param at a time before the release was called, or after the loss was reported
   */
  record Ended(String lease, long at) implements Event {}

  /** {@return the event as one line without its terminator; {@link #decode} reads it} */
  default String encode() {
    StringJoiner line = new StringJoiner("\t");
    if (this instanceof Granted e) {
      line.add("G").add(escape(e.lease)).add(escape(e.name)).add(Long.toString(e.token));
      line.add(escape(e.holder)).add(Long.toString(e.requestedAt));
      line.add(Long.toString(e.at)).add(Long.toString(e.validUntil));
    } else if (this instanceof Extended e) {
      line.add("X").add(escape(e.lease)).add(Long.toString(e.at)).add(Long.toString(e.validUntil));
    } else if (this instanceof Ended e) {
      line.add("E").add(escape(e.lease)).add(Long.toString(e.at));
    }
    return line.toString();
  }

  /**
   * Reads a line that {@link #encode} made.
   *
   * @param line the line, without its terminator
   * @return the event
   * @throws IllegalArgumentException if the line is not of that form
   */
  static Event decode(String line) {
    String[] f = line.split("\t", -1);
    try {
      return switch (f[0] + f.length) {
        case "G8" ->
            new Granted(
                unescape(f[1]),
                unescape(f[2]),
                Long.parseLong(f[3]),
                unescape(f[4]),
                Long.parseLong(f[5]),
                Long.parseLong(f[6]),
                Long.parseLong(f[7]));
        case "X4" -> new Extended(unescape(f[1]), Long.parseLong(f[2]), Long.parseLong(f[3]));
        case "E3" -> new Ended(unescape(f[1]), Long.parseLong(f[2]));
        default -> throw new IllegalArgumentException("unknown kind or number of fields");
      };
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("not an event: \"" + line + "\"", e);
    }
  }

  private static String escape(String text) {
    StringBuilder escaped = new StringBuilder();
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c < ' '
          || c == '\\'
          || c == '\u007f'
          || c == '\u0085'
          || c == '\u2028'
          || c == '\u2029') {
        escaped.append(String.format("\\u%04x", (int) c));
      } else {
        escaped.append(c);
      }
    }
    return escaped.toString();
  }

  private static String unescape(String text) {
    StringBuilder plain = new StringBuilder();
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '\\') {
        if (text.length() < i + 6 || text.charAt(i + 1) != 'u') {
          throw new IllegalArgumentException("a backslash must be followed by u and four digits");
        }
        c = (char) Integer.parseInt(text, i + 2, i + 6, 16);
        i += 5;
      }
      plain.append(c);
    }
    return plain.toString();
  }
}
