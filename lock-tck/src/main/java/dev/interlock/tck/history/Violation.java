package dev.interlock.tck.history;

import java.util.Locale;

/**
 * Two leases of one name that violate the contract. {@link #toString()} shows them with times
 * relative to the first. If several leases together hold more than the name has, the second is the
 * one that was granted last, and the first is the one granted before it.
 *
 * @param kind the kind of violation
 * @param first the lease that was granted first
 * @param firstEnd the time until which the first was certainly held
 * @param second the other lease
 */
public record Violation(Kind kind, Event.Granted first, long firstEnd, Event.Granted second) {
  /** The kind of a violation. */
  public enum Kind {
    /** Both leases were valid at a moment when more was held than the name has. */
    OVERLAP,
    /** Both leases have the same token. */
    TOKEN_REPEATED,
    /** The later lease has the lower token. */
    TOKEN_WENT_BACK
  }

  /** {@return the name of the lock} */
  public String name() {
    return first.name();
  }

  /** {@return the time between the two grants; the violation with the shortest is reported} */
  long distance() {
    return second.at() - first.at();
  }

  @Override
  public String toString() {
    String what =
        switch (kind) {
          case OVERLAP ->
              first.isWhole() || second.isWhole()
                  ? "two leases were valid at once"
                  : "more was held at once than the name has";
          case TOKEN_REPEATED -> "two leases have the same token";
          case TOKEN_WENT_BACK -> "the later lease has the lower token";
        };
    return String.format(
        Locale.ROOT,
        "lock \"%s\": %s%n  %s  granted  %s%n  %s  granted  %s%n  %s  the first ended",
        name(),
        what,
        time(first.at()),
        describe(first),
        time(second.at()),
        describe(second),
        time(firstEnd));
  }

  private String describe(Event.Granted grant) {
    return grant + ", requested at " + time(grant.requestedAt()).strip();
  }

  private String time(long at) {
    return String.format(Locale.ROOT, "%+14.6f ms", (at - first.at()) / 1e6);
  }
}
