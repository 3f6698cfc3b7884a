package dev.interlock.tck.history;

import java.util.StringJoiner;

/**
 * Something that happened to one lease, as its holder saw it.
 *
 * <p>Times are those of {@link System#nanoTime()}. On Linux that is {@code CLOCK_MONOTONIC}, which
 * all processes of a machine share (since the boot, so that it neither overflows nor is negative);
 * events of several JVMs on one Linux machine can therefore be compared. On other systems a history
 * must not span processes.
 *
 * <p>For a violation that is found to be a real one, a recorder must never claim a lease for longer
 * than it was had: a grant is timed <em>after</em> the acquisition returned, the end of validity is
 * read as a time taken <em>before</em> plus the validity that was left, and a release is timed
 * <em>before</em> it is called.
 */
public sealed interface Event {

  /**
   * Returns the identity of the lease, unique in the history, such as {@code worker-2/17}.
   *
   * @return the lease's identity
   */
  String lease();

  /** {@return when the event was recorded} */
  long at();

  /**
   * An acquisition succeeded.
   *
   * @param lease the lease's identity
   * @param name the lock's name
   * @param token the fencing token, or 0 if the backend has none
   * @param holder who has it: process, client and thread, for people
   * @param requestedAt before the acquisition was called
   * @param at after it had returned
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
   * A lease was found to be valid for longer than was known.
   *
   * @param lease the lease's identity
   * @param at when this was recorded
   * @param validUntil until when the lease is certainly held unless it is renewed again
   */
  record Extended(String lease, long at, long validUntil) implements Event {}

  /**
   * The holder stopped to rely on the lease, whatever its validity: it is about to release it, or
   * has been told that it is lost.
   *
   * @param lease the lease's identity
   * @param at before the release was called, or after the loss was told
   */
  record Ended(String lease, long at) implements Event {}

  /**
   * Returns the event as one line without its end; {@link #decode} reads it.
   *
   * @return the line
   */
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
   * @param line the line, without its end
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
