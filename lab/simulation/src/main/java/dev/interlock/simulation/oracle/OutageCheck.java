package dev.interlock.simulation.oracle;

import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.spi.Claim;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Checks that a caller without a time limit fails after the outage time-out, counted from the
 * beginning of the outage, or of the call if that is later. The callers of a name in one client
 * share an outage. Time in which no thread could ask the store does not count.
 */
public final class OutageCheck {

  private static final long MS = 1_000_000;
  private static final long LONG_AGO = Long.MIN_VALUE / 2;

  /** The requests for one name by one client. */
  private static final class NameRequests {
    /** The last time at which the store answered that the name is held. */
    long busyAt = LONG_AGO;

    /** The time of the first failed request since the last answer, or of that answer. */
    long outageSince = LONG_AGO;

    boolean isFailing;
    long lastFailureAt;
  }

  private final Scheduler scheduler;
  private final Map<List<String>, NameRequests> requestsByName = new HashMap<>();

  private final long requestTimeout;

  /** The longest pause before a failed request is repeated. */
  private final long maxPause;

  OutageCheck(Scheduler scheduler, long requestTimeout, long ttl) {
    this.scheduler = scheduler;
    this.requestTimeout = requestTimeout;
    this.maxPause = ttl / 10; // LEASE-07
  }

  private NameRequests requests(Machine machine, String name) {
    return requestsByName.computeIfAbsent(List.of(machine.name(), name), key -> new NameRequests());
  }

  /** Records an answer of the store to a request for a lock. */
  public void recordAnswer(Machine machine, Claim claim, boolean isBusy) {
    NameRequests requests = requests(machine, claim.name());
    requests.isFailing = false;
    requests.outageSince = scheduler.now();
    if (isBusy && claim.share().isExclusive()) {
      requests.busyAt = scheduler.now();
    }
  }

  /** Records that the store did not answer a request that was sent at the given time. */
  public void recordFailure(Machine machine, Claim claim, long sentAt) {
    NameRequests requests = requests(machine, claim.name());
    if (!requests.isFailing) {
      requests.outageSince = Math.max(requests.outageSince, sentAt);
    } else if (sentAt - requests.lastFailureAt > maxPause) {
      requests.outageSince += sentAt - requests.lastFailureAt;
    }
    requests.isFailing = true;
    requests.lastFailureAt = scheduler.now();
  }

  /**
   * Fails if a call without a time limit failed too early.
   *
   * @param names the names that it asked for; the outage may be that of any of them
   * @param from the beginning of the call
   * @param timeout the outage time-out
   * @param blocking whether the call fails at once; a future needs a thread for that
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
    long bound = timeout + maxPause + (names.size() > 1 ? 2 : 1) * requestTimeout;
    long late =
        machine.lateness(Math.max(from, since), scheduler.now())
            - machine.trueNanos(bound)
            - machine.tolerance();
    if (late > 0) {
      scheduler.fail(
          "OUTAGE", machine.name() + names + " failed " + late / MS + " ms too late: " + failure);
    }
  }
}
