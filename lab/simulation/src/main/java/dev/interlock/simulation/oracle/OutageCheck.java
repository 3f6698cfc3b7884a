package dev.interlock.simulation.oracle;

import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.spi.Claim;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Checks when a caller that waits without a limit fails: after the outage time-out, counted from
 * the beginning of the outage, or of the call if that is later. The callers of a name in one client
 * share an outage. Time in which nobody could ask the store does not count.
 */
public final class OutageCheck {

  private static final long MS = 1_000_000;
  private static final long LONG_AGO = Long.MIN_VALUE / 2;

  /** The requests for one name by one client. */
  private static final class Requests {
    /** When it was last told that the name is held. */
    long busyAt = LONG_AGO;

    /**
     * When the first failure since the last answer was requested; if there is none, that answer.
     */
    long outageSince = LONG_AGO;

    boolean fails;
    long lastFailureAt;
  }

  private final Scheduler scheduler;
  private final Map<List<String>, Requests> all = new HashMap<>();

  /** How long a client waits at most for a reply, and before it repeats a request that failed. */
  private final long requestTimeout;

  private final long maxPause;

  OutageCheck(Scheduler scheduler, long requestTimeout, long ttl) {
    this.scheduler = scheduler;
    this.requestTimeout = requestTimeout;
    this.maxPause = ttl / 10; // LEASE-07
  }

  private Requests requests(Machine machine, String name) {
    return all.computeIfAbsent(List.of(machine.name(), name), key -> new Requests());
  }

  /** Records an answer of the store to a request for a lock. */
  public void recordAnswer(Machine machine, Claim claim, boolean isBusy) {
    Requests requests = requests(machine, claim.name());
    requests.fails = false;
    requests.outageSince = scheduler.now();
    if (isBusy && claim.share().isExclusive()) {
      requests.busyAt = scheduler.now();
    }
  }

  /** Records that the store has not answered a request that was sent at the given time. */
  public void recordFailure(Machine machine, Claim claim, long sentAt) {
    Requests requests = requests(machine, claim.name());
    if (!requests.fails) {
      requests.outageSince = Math.max(requests.outageSince, sentAt);
    } else if (sentAt - requests.lastFailureAt > maxPause) {
      requests.outageSince += sentAt - requests.lastFailureAt;
    }
    requests.fails = true;
    requests.lastFailureAt = scheduler.now();
  }

  /**
   * Fails if a call without a time limit failed too early.
   *
   * @param names what it wanted: the outage was one of any of them
   * @param from when it began
   * @param timeout its outage time-out
   * @param blocking whether it fails as soon as that is decided; a future needs a thread
   */
  public void requireNotEarly(
      Machine machine,
      List<String> names,
      long from,
      long timeout,
      boolean blocking,
      Throwable failure) {
    long busyAt =
        blocking
            ? names.stream().mapToLong(name -> requests(machine, name).busyAt).min().orElseThrow()
            : from;
    long early = machine.trueNanos(timeout) - (scheduler.now() - Math.max(from, busyAt));
    if (early > MS) {
      scheduler.fail(
          "OUTAGE", machine.name() + names + " failed " + early / MS + " ms too early: " + failure);
    }
  }

  /** Fails if a call without a time limit, which never waited for a thread, failed too late. */
  public void requireNotLate(
      Machine machine, List<String> names, long from, long timeout, Throwable failure) {
    long since =
        names.stream().mapToLong(name -> requests(machine, name).outageSince).max().orElseThrow();
    // A set releases its members before it fails.
    long most = timeout + maxPause + (names.size() > 1 ? 2 : 1) * requestTimeout;
    long late =
        machine.lateness(Math.max(from, since), scheduler.now())
            - machine.trueNanos(most)
            - machine.tolerance();
    if (late > 0) {
      scheduler.fail(
          "OUTAGE", machine.name() + names + " failed " + late / MS + " ms too late: " + failure);
    }
  }
}
