package dev.interlock.simulation.oracle;

import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Grant;
import dev.interlock.spi.Share;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Checks that an attempt without a lease had a reason: the client itself held the name or waited in
 * the store's queue for it, or the store had answered that the name was held. A failure of the
 * store is not a reason.
 */
public final class EmptyAnswerCheck {

  private static final long MS = 1_000_000;

  private static final long POLL_INTERVAL = 1_000 * MS;

  /** The most that is added to the poll interval at random. */
  private static final long MAX_POLL_SPREAD = 51 * MS;

  /** The longest time from a call of release() to its request. */
  private static final long MAX_RELEASE_LAG = 50 * MS;

  private static final long UNKNOWN_END = Long.MAX_VALUE / 4;

  /**
   * A reason why a name cannot be acquired.
   *
   * @param weight how much of the name is taken
   * @param until the end of the reason, by the machine's clock
   * @param isOwn whether the client itself holds that much, or has a place in the queue
   */
  private record Reason(int weight, long until, boolean isOwn) {}

  private final Scheduler scheduler;
  private final long requestTimeout;

  /** The reasons by machine and name, then by claim. */
  private final Map<List<String>, Map<String, Reason>> reasonsByName = new HashMap<>();

  EmptyAnswerCheck(Scheduler scheduler, long requestTimeout) {
    this.scheduler = scheduler;
    this.requestTimeout = requestTimeout;
  }

  private Map<String, Reason> reasons(Machine machine, String name) {
    return reasonsByName.computeIfAbsent(List.of(machine.name(), name), key -> new HashMap<>());
  }

  /** Records that a grant is valid until then, by the machine's clock. */
  public void recordGrant(Machine machine, Grant grant, long until) {
    Claim claim = grant.claim();
    reasons(machine, claim.name()).put(claim.id(), new Reason(claim.share().weight(), until, true));
  }

  /** Records that a client has entered the store's queue. */
  public void recordPlace(Machine machine, Claim claim) {
    Reason reason = new Reason(Integer.MAX_VALUE, machine.monotonic() + UNKNOWN_END, true);
    reasons(machine, claim.name()).put(claim.id(), reason);
  }

  /** Records that the name is held. The client relies on this until it must ask again. */
  public void recordBusy(Machine machine, Claim claim, Attempt.Busy busy) {
    long poll = Math.min(busy.retryAfter().toNanos(), POLL_INTERVAL) + MAX_POLL_SPREAD;
    long until = machine.monotonic() + poll + requestTimeout;
    reasons(machine, claim.name()).put("busy", new Reason(Integer.MAX_VALUE, until, false));
  }

  /** Records a failure of the store, which ends the reasons that it gave before. */
  public void recordFailure(Machine machine, Claim claim) {
    // Several threads of a client may ask for other shares at once.
    if (claim.share().isExclusive()) {
      long now = machine.monotonic();
      change(machine, claim.name(), "busy", now, now);
    }
  }

  /**
   * Records that a release begins, which takes until {@link #recordEnd}. The release may have begun
   * just before the end of the validity.
   */
  public void recordRelease(Machine machine, Claim claim) {
    long now = machine.monotonic();
    change(machine, claim.name(), claim.id(), now - MAX_RELEASE_LAG, now + UNKNOWN_END);
  }

  /** Records that a claim no longer has the lock or a place. */
  public void recordEnd(Machine machine, Claim claim) {
    long now = machine.monotonic();
    change(machine, claim.name(), claim.id(), now, now);
  }

  /** Changes the end of a reason, unless it ended before the given time. */
  private void change(Machine machine, String name, String key, long before, long until) {
    reasons(machine, name)
        .computeIfPresent(
            key,
            (k, reason) ->
                reason.until() - before > 0
                    ? new Reason(reason.weight(), until, reason.isOwn())
                    : reason);
  }

  private boolean applied(Machine machine, Reason reason, long from) {
    long before = from - reason.until();
    // After a stop, the client may not yet have noticed the end of its own lease.
    long now = scheduler.now();
    long stopped =
        before > 0 && reason.isOwn()
            ? machine.stoppedTime(now - (machine.monotonic() - reason.until()), now)
            : 0;
    return before - stopped <= machine.tolerance();
  }

  /**
   * Fails if an attempt ended without a lease and without a reason.
   *
   * @param names the names that it asked for; a reason for one of them is enough
   * @param from the beginning of the attempt, by the machine's clock
   */
  public void requireReason(Machine machine, List<String> names, Share share, long from) {
    for (String name : names) {
      long takenWeight =
          reasons(machine, name).values().stream()
              .filter(reason -> applied(machine, reason, from))
              .mapToLong(Reason::weight)
              .sum();
      if (takenWeight + share.weight() > share.capacity()) {
        return;
      }
    }
    scheduler.fail(
        "API-02",
        "%s acquired none of %s after %d ms, though it knew of no holder"
            .formatted(machine.name(), names, (machine.monotonic() - from) / MS));
  }
}
