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

/** Checks the order in which those who wait for a name are served. */
public final class FairnessCheck {

  private static final long MS = 1_000_000;

  private final Scheduler scheduler;
  private final List<Held> leases;
  private final long start;
  private final Map<String, Map<Machine, Queueing>> queueings = new LinkedHashMap<>();

  FairnessCheck(Scheduler scheduler, List<Held> leases) {
    this.scheduler = scheduler;
    this.leases = leases;
    this.start = scheduler.now();
  }

  /** The waiters and holders of one name on one machine. */
  private static final class Queueing {
    int waiters;
    int holders;

    /** Since when there has always been a waiter here, and no holder. */
    long since;

    /** What the last one waits for, and until when. */
    Share share = Share.EXCLUSIVE;

    long until;

    /** How many writers have been granted since it began to wait. */
    int writers;

    /** Those who wait on threads of their own. */
    final Set<Waiter> threads = new LinkedHashSet<>();
  }

  /** A thread that waits. */
  private record Waiter(
      Thread thread, long since, long until, Share share, AtomicInteger overtaken) {}

  private Queueing queueing(Machine machine, String name) {
    return queueings
        .computeIfAbsent(name, key -> new LinkedHashMap<>())
        .computeIfAbsent(machine, key -> new Queueing());
  }

  void recordGrant(Held held) {
    queueing(held.machine, held.name).holders++;
  }

  void recordRelease(Held held) {
    Queueing here = queueing(held.machine, held.name);
    here.holders--;
    here.since = scheduler.now();
  }

  /**
   * Records that a thread waits from now on.
   *
   * @param until when it gives up, by the machine's clock; or never
   */
  public void waits(Machine machine, String name, Share share, long until) {
    Queueing here = queueing(machine, name);
    here.until = until;
    here.threads.add(
        new Waiter(Thread.currentThread(), scheduler.now(), until, share, new AtomicInteger()));
    here.share = share;
    here.writers = 0;
    if (here.waiters++ == 0) {
      here.since = scheduler.now();
    }
  }

  public void waitsNoMore(Machine machine, String name) {
    Queueing here = queueing(machine, name);
    here.waiters--;
    here.threads.removeIf(waiter -> waiter.thread() == Thread.currentThread());
  }

  /** Fails if a client was served before another whose first waiter arrived earlier. */
  public void checkFairness(Held held, long margin) {
    if (!held.share.isExclusive()) {
      checkLine(held, margin);
      return;
    }
    long since = queueing(held.machine, held.name).since;
    waitersBefore(
        held,
        since - margin,
        (machine, there) -> {
          if (held.token % Grant.LEASES_PER_GRANT == 0
              && there.holders == 0
              && !stopsSoonAfter(machine, there.since)
              && !stopsSoonAfter(held.machine, since)) {
            scheduler.fail(
                "FAIR-02",
                "%s was granted to a client that waited %d ms less than %s"
                    .formatted(held, (since - there.since) / MS, machine.name()));
          }
        });
  }

  /**
   * Fails if another thread of the client, which came before and has been overtaken as often as it
   * may be, still waits a little later. No machine may have been disturbed.
   */
  public void checkLocalOrder(Held held, long margin, int allowed) {
    Queueing here = queueing(held.machine, held.name);
    for (Waiter waiter : here.threads) {
      if (held.requestedAt - waiter.since() > margin) {
        scheduler.after(
            margin,
            () -> {
              boolean timesOut =
                  waiter.until() != Journal.NEVER
                      && waiter.until() - held.machine.monotonic() < margin;
              if (here.threads.contains(waiter)
                  && !timesOut
                  && waiter.overtaken().incrementAndGet() > allowed) {
                failAsPassedOver(
                    "FAIR-01", held, waiter.thread().getName(), waiter.share(), waiter.since());
              }
            });
      }
    }
  }

  /**
   * Fails if another waiter, whose client came before, still waits a little later: a claim that
   * fits in beside all before it has left room for them. Each client has one waiter.
   */
  private void checkLine(Held held, long margin) {
    waitersBefore(
        held,
        held.requestedAt - margin,
        (machine, there) -> {
          long since = there.since;
          scheduler.after(
              margin,
              () -> {
                if (there.waiters > 0
                    && there.since == since
                    && machine.stopped(since, scheduler.now()) == 0
                    && held.machine.stopped(held.requestedAt, scheduler.now()) == 0) {
                  failAsPassedOver("FAIR-02", held, machine.name(), there.share, since);
                }
              });
        });
  }

  private void failAsPassedOver(String rule, Held held, String who, Share share, long since) {
    scheduler.fail(
        rule,
        "%s was granted, and not to %s, which waits as %s since %d ms before"
            .formatted(held, who, Held.use(share), (held.requestedAt - since) / MS));
  }

  /**
   * Fails if a reader came before a writer that had waited, except for a short time, the window,
   * after another writer; or if two writers, one after the other, came before a reader that had
   * waited. Each client has one waiter, and the store no queue.
   */
  public void checkTurns(Held held, long margin, long window) {
    if (held.share.kind() != LockKind.READ_WRITE) {
      return;
    }
    boolean writes = held.share.isWhole();
    long lastWriter =
        leases.stream()
            .filter(other -> other.name.equals(held.name) && other.share.isWhole())
            .mapToLong(Held::heldUntil)
            .filter(end -> end <= scheduler.now())
            .max()
            .orElse(start - margin);
    waitersBefore(
        held,
        held.requestedAt - margin,
        (machine, there) -> {
          if (writes && !there.share.isWhole() && ++there.writers > 1) {
            scheduler.fail(
                "FAIR-02", held + " was granted before a reader at " + machine.name() + " again");
          }
          long after = scheduler.now() - lastWriter;
          boolean waits =
              there.until == Journal.NEVER || there.until - machine.monotonic() > margin;
          if (!writes && there.share.isWhole() && waits && after > window + margin) {
            scheduler.fail(
                "FAIR-02",
                "%s was granted before a writer at %s that has waited for %d ms, %d ms after the last"
                    .formatted(
                        held, machine.name(), (scheduler.now() - there.since) / MS, after / MS));
          }
        });
  }

  /** Those on other machines that have waited for the name of a lease since before that time. */
  private void waitersBefore(Held held, long time, BiConsumer<Machine, Queueing> action) {
    queueings
        .getOrDefault(held.name, Map.of())
        .forEach(
            (machine, there) -> {
              if (machine != held.machine && there.waiters > 0 && there.since < time) {
                action.accept(machine, there);
              }
            });
  }

  /** Whether a machine was stopped when it should have joined the queue. */
  private boolean stopsSoonAfter(Machine machine, long time) {
    return machine.stopped(time, Math.min(scheduler.now(), time + 1_000 * MS)) > 0;
  }
}
