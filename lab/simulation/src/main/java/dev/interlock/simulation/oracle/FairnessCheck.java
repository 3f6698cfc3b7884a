package dev.interlock.simulation.oracle;

import dev.interlock.LockKind;
import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.spi.Grant;
import dev.interlock.spi.Share;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;

/** Checks the order in which the waiters of a name are served. */
public final class FairnessCheck {

  private static final long MS = 1_000_000;

  private final Scheduler scheduler;
  private final List<ObservedLease> leases;
  private final long start;
  private final Map<String, Map<Machine, LocalWaiters>> waitersByName = new LinkedHashMap<>();

  FairnessCheck(Scheduler scheduler, List<ObservedLease> leases) {
    this.scheduler = scheduler;
    this.leases = leases;
    this.start = scheduler.now();
  }

  /** The waiters and holders of one name on one machine. */
  private static final class LocalWaiters {
    int waiters;
    int holders;

    /** The time since which this machine has had a waiter and no holder. */
    long since;

    /** The share that the last waiter wants, and the end of its wait. */
    Share share = Share.EXCLUSIVE;

    long until;

    /** The number of writers that were granted since the last waiter began to wait. */
    int writers;

    /** The waiters with a thread of their own. */
    final Set<Waiter> threads = new LinkedHashSet<>();
  }

  private record Waiter(
      Thread thread, long since, long until, Share share, AtomicInteger overtaken) {}

  private LocalWaiters localWaiters(Machine machine, String name) {
    return waitersByName
        .computeIfAbsent(name, key -> new LinkedHashMap<>())
        .computeIfAbsent(machine, key -> new LocalWaiters());
  }

  void recordGrant(ObservedLease observed) {
    localWaiters(observed.machine, observed.name).holders++;
  }

  void recordRelease(ObservedLease observed) {
    LocalWaiters here = localWaiters(observed.machine, observed.name);
    here.holders--;
    here.since = scheduler.now();
  }

  /**
   * Records that a thread begins to wait.
   *
   * @param until the end of its time, by the machine's clock; or NEVER
   */
  public void recordWait(Machine machine, String name, Share share, long until) {
    LocalWaiters here = localWaiters(machine, name);
    here.until = until;
    here.threads.add(
        new Waiter(Thread.currentThread(), scheduler.now(), until, share, new AtomicInteger()));
    here.share = share;
    here.writers = 0;
    if (here.waiters++ == 0) {
      here.since = scheduler.now();
    }
  }

  public void recordEndOfWait(Machine machine, String name) {
    LocalWaiters here = localWaiters(machine, name);
    here.waiters--;
    here.threads.removeIf(waiter -> waiter.thread() == Thread.currentThread());
  }

  /** Fails if a client was served before another whose first waiter arrived earlier. */
  public void checkFairness(ObservedLease observed, long margin) {
    if (!observed.share.isExclusive()) {
      checkQueueOrder(observed, margin);
      return;
    }
    long since = localWaiters(observed.machine, observed.name).since;
    forWaitersBefore(
        observed,
        since - margin,
        (machine, there) -> {
          if (observed.token % Grant.LEASES_PER_GRANT == 0
              && there.holders == 0
              && !stopsSoonAfter(machine, there.since)
              && !stopsSoonAfter(observed.machine, since)) {
            scheduler.fail(
                "FAIR-02",
                "%s was granted to a client that waited %d ms less than %s"
                    .formatted(observed, (since - there.since) / MS, machine.name()));
          }
        });
  }

  /**
   * Fails if another thread of the client came before, has been overtaken more often than allowed,
   * and still waits after the margin. Only for worlds without faults.
   */
  public void checkLocalOrder(ObservedLease observed, long margin, int allowed) {
    LocalWaiters here = localWaiters(observed.machine, observed.name);
    for (Waiter waiter : here.threads) {
      if (observed.requestedAt - waiter.since() > margin) {
        scheduler.after(
            margin,
            () -> {
              boolean timesOut =
                  waiter.until() != Journal.NEVER
                      && waiter.until() - observed.machine.monotonic() < margin;
              if (here.threads.contains(waiter)
                  && !timesOut
                  && waiter.overtaken().incrementAndGet() > allowed) {
                failAsOvertaken(
                    "FAIR-01", observed, waiter.thread().getName(), waiter.share(), waiter.since());
              }
            });
      }
    }
  }

  /**
   * Fails if a waiter of another client came before and still waits after the margin: a claim that
   * fits in beside all claims before it has left room for them. Each client has one waiter.
   */
  private void checkQueueOrder(ObservedLease observed, long margin) {
    forWaitersBefore(
        observed,
        observed.requestedAt - margin,
        (machine, there) -> {
          long since = there.since;
          scheduler.after(
              margin,
              () -> {
                if (there.waiters > 0
                    && there.since == since
                    && machine.stoppedTime(since, scheduler.now()) == 0
                    && observed.machine.stoppedTime(observed.requestedAt, scheduler.now()) == 0) {
                  failAsOvertaken("FAIR-02", observed, machine.name(), there.share, since);
                }
              });
        });
  }

  private void failAsOvertaken(
      String rule, ObservedLease observed, String who, Share share, long since) {
    scheduler.fail(
        rule,
        "%s was granted before %s, which waits as %s and came %d ms earlier"
            .formatted(
                observed, who, ObservedLease.describe(share), (observed.requestedAt - since) / MS));
  }

  /**
   * Fails if a reader was granted before a waiting writer, except within the window after another
   * writer, or if two writers were granted before a waiting reader. Each client has one waiter, and
   * the store has no queue.
   */
  public void checkPrecedence(ObservedLease observed, long margin, long window) {
    if (observed.share.kind() != LockKind.READ_WRITE) {
      return;
    }
    boolean isWriter = observed.share.isWhole();
    long lastWriter =
        leases.stream()
            .filter(other -> other.name.equals(observed.name) && other.share.isWhole())
            .mapToLong(ObservedLease::heldUntil)
            .filter(end -> end <= scheduler.now())
            .max()
            .orElse(start - margin);
    forWaitersBefore(
        observed,
        observed.requestedAt - margin,
        (machine, there) -> {
          if (isWriter && !there.share.isWhole() && ++there.writers > 1) {
            scheduler.fail(
                "FAIR-02",
                observed + " was granted before a reader at " + machine.name() + " again");
          }
          long after = scheduler.now() - lastWriter;
          boolean stillWaits =
              there.until == Journal.NEVER || there.until - machine.monotonic() > margin;
          if (!isWriter && there.share.isWhole() && stillWaits && after > window + margin) {
            scheduler.fail(
                "FAIR-02",
                "%s was granted before a writer at %s that has waited for %d ms, %d ms after the last"
                    .formatted(
                        observed,
                        machine.name(),
                        (scheduler.now() - there.since) / MS,
                        after / MS));
          }
        });
  }

  /** Calls the action for other machines with waiters for the name that came before the time. */
  private void forWaitersBefore(
      ObservedLease observed, long time, BiConsumer<Machine, LocalWaiters> action) {
    waitersByName
        .getOrDefault(observed.name, Map.of())
        .forEach(
            (machine, there) -> {
              if (machine != observed.machine && there.waiters > 0 && there.since < time) {
                action.accept(machine, there);
              }
            });
  }

  /** {@return whether a machine was stopped when it should have joined the queue} */
  private boolean stopsSoonAfter(Machine machine, long time) {
    return machine.stoppedTime(time, Math.min(scheduler.now(), time + 1_000 * MS)) > 0;
  }
}
