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
 * Checks that an attempt that ended with nothing had a reason: the client itself held the name, or
 * waited in the store's queue for it, or the store had told it that the name was held. A failure of
 * the store is none.
 */
public final class EmptyAnswerCheck {

  private static final long MS = 1_000_000;

  /** The poll interval of a client, and how much is added to it at random. */
  private static final long POLL_INTERVAL = 1_000 * MS;

  private static final long MAX_POLL_SPREAD = 51 * MS;

  /** How long after the end of the validity a release may begin that was called before it. */
  private static final long MAX_LAG = 50 * MS;

  /** An end that is not known yet. */
  private static final long FOR_EVER = Long.MAX_VALUE / 4;

  /**
   * A reason why no other lease of a name can be had.
   *
   * @param weight how much of the name is taken
   * @param until when it is over, by the machine's clock
   * @param isOwn whether the client itself has that much, or a place in the queue
   */
  private record Reason(int weight, long until, boolean isOwn) {}

  private final Scheduler scheduler;
  private final long requestTimeout;

  /** By machine and name, then by claim. */
  private final Map<List<String>, Map<String, Reason>> all = new HashMap<>();

  EmptyAnswerCheck(Scheduler scheduler, long requestTimeout) {
    this.scheduler = scheduler;
    this.requestTimeout = requestTimeout;
  }

  private Map<String, Reason> reasons(Machine machine, String name) {
    return all.computeIfAbsent(List.of(machine.name(), name), key -> new HashMap<>());
  }

  /** Records that a grant is certain until then, by the machine's clock. */
  public void recordGrant(Machine machine, Grant grant, long until) {
    Claim claim = grant.claim();
    reasons(machine, claim.name()).put(claim.id(), new Reason(claim.share().weight(), until, true));
  }

  /** Records that a client has entered the store's queue. */
  public void recordPlace(Machine machine, Claim claim) {
    Reason reason = new Reason(Integer.MAX_VALUE, machine.monotonic() + FOR_EVER, true);
    reasons(machine, claim.name()).put(claim.id(), reason);
  }

  /** Records that the name is held. The client relies on that until it has to ask again. */
  public void recordBusy(Machine machine, Claim claim, Attempt.Busy busy) {
    long poll = Math.min(busy.retryAfter().toNanos(), POLL_INTERVAL) + MAX_POLL_SPREAD;
    long until = machine.monotonic() + poll + requestTimeout;
    reasons(machine, claim.name()).put("busy", new Reason(Integer.MAX_VALUE, until, false));
  }

  /** Records that the store fails: what it said before counts no longer. */
  public void recordFailure(Machine machine, Claim claim) {
    // Several threads of a client may ask for other shares at once.
    if (claim.share().isExclusive()) {
      long now = machine.monotonic();
      change(machine, claim.name(), "busy", now, now);
    }
  }

  /**
   * Records that what is held is being released, which takes until {@link #recordEnd}. The release
   * may have begun just before the end of the validity.
   */
  public void recordRelease(Machine machine, Claim claim) {
    long now = machine.monotonic();
    change(machine, claim.name(), claim.id(), now - MAX_LAG, now + FOR_EVER);
  }

  /** Records that a claim has neither the lock nor a place any more. */
  public void recordEnd(Machine machine, Claim claim) {
    long now = machine.monotonic();
    change(machine, claim.name(), claim.id(), now, now);
  }

  /** Changes when a reason is over, unless it was over at some time before. */
  private void change(Machine machine, String name, String key, long before, long until) {
    reasons(machine, name)
        .computeIfPresent(
            key,
            (same, reason) ->
                reason.until() - before > 0
                    ? new Reason(reason.weight(), until, reason.isOwn())
                    : reason);
  }

  private boolean lasted(Machine machine, Reason reason, long from) {
    long before = from - reason.until();
    // After a stop, the end of what the client itself had may still be under way.
    long now = scheduler.now();
    long stopped =
        before > 0 && reason.isOwn()
            ? machine.stopped(now - (machine.monotonic() - reason.until()), now)
            : 0;
    return before - stopped <= machine.tolerance();
  }

  /**
   * Fails if an attempt ended with nothing, for no reason.
   *
   * @param names what it wanted; one of them suffices as a reason
   * @param from when it began, by the machine's clock
   */
  public void requireReason(Machine machine, List<String> names, Share share, long from) {
    for (String name : names) {
      long taken =
          reasons(machine, name).values().stream()
              .filter(reason -> lasted(machine, reason, from))
              .mapToLong(Reason::weight)
              .sum();
      if (taken + share.weight() > share.capacity()) {
        return;
      }
    }
    scheduler.fail(
        "API-02",
        "%s got nothing of %s after %d ms, though neither it nor another was known to hold it"
            .formatted(machine.name(), names, (machine.monotonic() - from) / MS));
  }
}
