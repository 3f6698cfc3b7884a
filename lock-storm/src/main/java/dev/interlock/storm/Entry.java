package dev.interlock.storm;

import dev.interlock.tck.history.Event;
import java.util.List;

/**
 * One line of a client's journal: what happened to a lease, as the history checker wants it, or
 * something else that the verdict needs. Times are those of {@link System#nanoTime()}.
 */
sealed interface Entry {

  /** Something that happened to a lease. */
  record OfLease(Event event) implements Entry {}

  /** The loss of a lease was reported. */
  record LossReported(String lease, long at, String reason) implements Entry {}

  /** The loss of a lease was not reported within bound, although it says that it is not held. */
  record LossNotReported(String lease, long unheldAt) implements Entry {}

  /** A lease was given back. */
  record Released(String lease, String outcome) implements Entry {}

  /** A renewal that the program asked for was confirmed. */
  record Renewed(String lease) implements Entry {}

  /** A lease was left alone on purpose. */
  record Abandoned(String lease) implements Entry {}

  /** An attempt ended without a lease. */
  record NoLease(Why why, String name, long requestedAt, long at) implements Entry {}

  /** Why there was no lease. */
  enum Why {
    /** Somebody else had the lock for the whole time. */
    BUSY,
    /** The store could not be reached. */
    UNAVAILABLE,
    /** The attempt was called off. */
    CANCELLED
  }

  /** How long the store keeps a lease without renewal. */
  record EffectiveTtl(long nanos) implements Entry {}

  /** Threads and connections of this process at a calm moment. */
  record Size(int threads, int connections) implements Entry {}

  /** A rule was seen to be broken by the client itself. */
  record Broken(String rule, String what) implements Entry {}

  /** The line for the journal, without its end. */
  default String encode() {
    if (this instanceof OfLease e) {
      return e.event.encode();
    }
    List<Object> fields;
    if (this instanceof LossReported e) {
      fields = List.of("reported", e.lease, e.at, e.reason);
    } else if (this instanceof LossNotReported e) {
      fields = List.of("untold", e.lease, e.unheldAt);
    } else if (this instanceof Released e) {
      fields = List.of("released", e.lease, e.outcome);
    } else if (this instanceof Renewed e) {
      fields = List.of("renewed", e.lease);
    } else if (this instanceof Abandoned e) {
      fields = List.of("abandoned", e.lease);
    } else if (this instanceof NoLease e) {
      fields = List.of("none", e.why, e.name, e.requestedAt, e.at);
    } else if (this instanceof EffectiveTtl e) {
      fields = List.of("ttl", e.nanos);
    } else if (this instanceof Size e) {
      fields = List.of("size", e.threads, e.connections);
    } else if (this instanceof Broken e) {
      fields = List.of("broken", e.rule, e.what.replaceAll("\\s+", " "));
    } else {
      throw new IllegalStateException("an entry without a form: " + this);
    }
    return String.join("\t", fields.stream().map(Object::toString).toList());
  }

  /**
   * Reads a line that {@link #encode} made.
   *
   * @throws IllegalArgumentException if the line is not of that form
   */
  static Entry decode(String line) {
    String[] f = line.split("\t", -1);
    return switch (f[0] + f.length) {
      case "reported4" -> new LossReported(f[1], Long.parseLong(f[2]), f[3]);
      case "untold3" -> new LossNotReported(f[1], Long.parseLong(f[2]));
      case "released3" -> new Released(f[1], f[2]);
      case "renewed2" -> new Renewed(f[1]);
      case "abandoned2" -> new Abandoned(f[1]);
      case "none5" ->
          new NoLease(Why.valueOf(f[1]), f[2], Long.parseLong(f[3]), Long.parseLong(f[4]));
      case "ttl2" -> new EffectiveTtl(Long.parseLong(f[1]));
      case "size3" -> new Size(Integer.parseInt(f[1]), Integer.parseInt(f[2]));
      case "broken3" -> new Broken(f[1], f[2]);
      default -> new OfLease(Event.decode(line));
    };
  }
}
