package dev.interlock.simulation;

import dev.interlock.Lease;
import dev.interlock.LockEvent;
import dev.interlock.MultiLease;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.history.Event;
import dev.interlock.tck.history.HistoryChecker;
import dev.interlock.tck.history.Violation;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What happened in a world, as its programs saw it, and the decision whether that may be. */
final class Journal {

  private static final long MS = 1_000_000;

  /** How late anything may be that does not depend on the store. */
  static final long BOUND = 400 * MS;

  /** A lease, and what was seen of it. */
  final class Held {
    final String id;
    final String name;
    final long token;
    final Machine machine;
    final boolean isView;
    final boolean isOfSet;
    long validUntil;
    long releaseCalledAt = Long.MAX_VALUE;
    @Nullable String outcome;
    int lossesSignalled;
    int releasesReported;
    long toldAt;
    String reason = "";

    private Held(
        String id, String name, long token, Machine machine, boolean isView, boolean isOfSet) {
      this.id = id;
      this.name = name;
      this.token = token;
      this.machine = machine;
      this.isView = isView;
      this.isOfSet = isOfSet;
    }

    /** Records whether it is held, and until when. */
    boolean look(Lease lease) {
      long before = scheduler.now();
      long left = lease.remainingValidity().toNanos();
      if (left > 0) {
        extend(before + machine.trueNanos(left));
      }
      return left > 0;
    }

    /** It was observed to be valid until then. */
    void extend(long until) {
      validUntil = Math.max(validUntil, until);
      note(machine, id + " seen to be valid until " + (until - start) / MS + " ms");
      events.add(new Event.Extended(id, scheduler.now(), until));
    }

    void releasing() {
      if (releaseCalledAt == Long.MAX_VALUE) {
        hasNoMore(machine, name);
      }
      releaseCalledAt = Math.min(releaseCalledAt, scheduler.now());
      events.add(new Event.Ended(id, scheduler.now()));
    }

    void released(ReleaseOutcome how) {
      if (outcome == null) {
        outcome = how.name();
      } else if (!outcome.equals(how.name())) {
        scheduler.fail("REL-01", this + ": released as " + outcome + ", then as " + how);
      }
      note(machine, id + " released: " + how);
    }

    void listen(Lease lease, int behaviour) {
      lease.onEvent(
          event -> {
            if (event instanceof LockEvent.Renewed) {
              look(lease);
            } else if (event instanceof LockEvent.Lost lost) {
              lossesSignalled++;
              toldAt = scheduler.now();
              reason = String.valueOf(lost.loss().reason());
              events.add(new Event.Ended(id, scheduler.now()));
              note(machine, id + " lost: " + lost.loss().getMessage());
            } else if (event instanceof LockEvent.Released) {
              releasesReported++;
            } else {
              note(machine, id + " " + event);
            }
          });
      if (behaviour == 1) {
        lease.onEvent(
            event -> {
              throw new IllegalArgumentException("a listener that throws");
            });
      } else if (behaviour == 2) {
        lease.onEvent(event -> blockFor(machine, 3_000 * MS));
      }
    }

    @Override
    public String toString() {
      return id + " of \"" + name + "\"" + (token == 0 ? "" : ", token " + token);
    }
  }

  static void blockFor(Machine machine, long nanos) {
    try {
      machine.pause(nanos);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private final Scheduler scheduler;
  private final boolean traced;
  private final List<Event> events = new ArrayList<>();
  private final List<Held> leases = new ArrayList<>();
  private final Map<String, Map<Machine, Queueing>> queueings = new LinkedHashMap<>();
  private final List<String> lines = new ArrayList<>();
  private final long start;

  Journal(Scheduler scheduler, boolean traced) {
    this.scheduler = scheduler;
    this.traced = traced;
    this.start = scheduler.now();
  }

  List<String> lines() {
    return lines;
  }

  int leases() {
    return leases.size();
  }

  void note(Machine machine, String what) {
    note(machine.name(), what);
  }

  void note(String who, String what) {
    if (traced) {
      lines.add(
          String.format(
              Locale.ROOT, "%12.3f ms  %-8s %s", (scheduler.now() - start) / 1e6, who, what));
    }
  }

  /** To be called when an acquisition has returned. */
  Held granted(Machine machine, String name, long token, long requestedAt, @Nullable Lease lease) {
    long before = scheduler.now();
    long left = lease == null ? 0 : lease.remainingValidity().toNanos();
    String id = machine.name() + "/" + (leases.size() + 1);
    Held held = new Held(id, name, token, machine, lease == null, lease instanceof MultiLease);
    held.validUntil = before + machine.trueNanos(left);
    leases.add(held);
    has(machine, name);
    events.add(
        new Event.Granted(
            id,
            name,
            token,
            Thread.currentThread().getName(),
            requestedAt,
            scheduler.now(),
            Math.max(held.validUntil, scheduler.now())));
    scheduler.mix(token);
    note(machine, held + " granted to " + Thread.currentThread().getName());
    return held;
  }

  /** The program is about to end all leases of a client. */
  void closing(Machine machine) {
    note(machine, "closing");
    for (Held held : leases) {
      if (held.machine == machine && held.outcome == null && held.lossesSignalled == 0) {
        events.add(new Event.Ended(held.id, scheduler.now()));
      }
    }
  }

  // --- who waits -------------------------------------------------------------------------------

  /** What one machine's programs want of one name. */
  private static final class Queueing {
    int waiters;
    int holders;

    /** Since when there has been a waiter here without a break, and no holder. */
    long since;
  }

  private Queueing queueing(Machine machine, String name) {
    return queueings
        .computeIfAbsent(name, key -> new LinkedHashMap<>())
        .computeIfAbsent(machine, key -> new Queueing());
  }

  void waits(Machine machine, String name) {
    Queueing here = queueing(machine, name);
    if (here.waiters++ == 0) {
      here.since = scheduler.now();
    }
  }

  void waitsNoMore(Machine machine, String name) {
    queueing(machine, name).waiters--;
  }

  private void has(Machine machine, String name) {
    queueing(machine, name).holders++;
  }

  private void hasNoMore(Machine machine, String name) {
    Queueing here = queueing(machine, name);
    here.holders--;
    here.since = scheduler.now();
  }

  /** Clients are served in the order in which their first waiters arrived. */
  void checkFairness(Held held, long margin) {
    long since = queueing(held.machine, held.name).since;
    queueings
        .getOrDefault(held.name, Map.of())
        .forEach(
            (machine, there) -> {
              if (machine != held.machine
                  && held.token % 64 == 0
                  && there.waiters > 0
                  && there.holders == 0
                  && since - there.since > margin) {
                scheduler.fail(
                    "FAIR-02",
                    held
                        + " was granted to a client that waited "
                        + (since - there.since) / MS
                        + " ms less than "
                        + machine.name());
              }
            });
  }

  /** For how much of the given time the machine was stopped or asleep. */
  static long stopped(Machine machine, long from, long until) {
    long sum = 0;
    for (Machine.Stop stop : machine.stops()) {
      sum += Math.max(0, Math.min(stop.until(), until) - Math.max(stop.from(), from));
    }
    return sum;
  }

  /** How late the signal of a loss may be: a sleep is noticed within a second. */
  static long bound(Machine machine) {
    return machine.stops().isEmpty() ? BOUND : BOUND + 1_000 * MS;
  }

  /** Fails if a call took longer than the bound, not counting stops of the machine. */
  void took(Machine machine, String rule, String what, long from, long bound) {
    long until = scheduler.now();
    long took = until - from - stopped(machine, from, until);
    // After a stop several threads go on, one after the other.
    if (took > machine.trueNanos(bound) + bound(machine)) {
      scheduler.fail(
          rule, what + " took " + took / MS + " ms, not at most " + (bound + BOUND) / MS);
    }
  }

  /** Checks the whole history. */
  void check(boolean outside, boolean calm) {
    HistoryChecker checker =
        outside ? HistoryChecker.outsideFailureModel() : HistoryChecker.withinFailureModel();
    for (Violation violation : checker.check(events)) {
      if (violation.kind() == Violation.Kind.OVERLAP) {
        if (!outside) {
          scheduler.fail("EXCL-01", violation.toString());
        }
      } else {
        scheduler.fail("FENCE-01", violation.toString());
      }
    }
    for (Held held : leases) {
      if (!held.isView) {
        checkTelling(held, calm);
      }
    }
  }

  private void checkTelling(Held held, boolean calm) {
    if (held.lossesSignalled > 1) {
      scheduler.fail(
          "LOSS-01", held + ": its loss was signalled " + held.lossesSignalled + " times");
    }
    if (held.releasesReported > 1) {
      scheduler.fail(
          "LOSS-03", held + ": its release was reported " + held.releasesReported + " times");
    }
    if (held.lossesSignalled > 0 && held.releasesReported > 0) {
      scheduler.fail("LOSS-03", held + ": reported both released and lost");
    }
    if (held.lossesSignalled > 0 && "RELEASED".equals(held.outcome)) {
      scheduler.fail("LOSS-03", held + ": released, yet reported lost: " + held.reason);
    }
    if (held.machine.isDead()) {
      return;
    }
    if (held.outcome == null && held.lossesSignalled == 0 && held.releasesReported == 0) {
      scheduler.fail("LOSS-01", held + ": neither released nor reported lost");
    }
    if ("ALREADY_LOST".equals(held.outcome) && held.lossesSignalled == 0) {
      scheduler.fail("LOSS-01", held + ": release said ALREADY_LOST, but no loss was signalled");
    }
    if (held.lossesSignalled > 0 && !held.machine.ranOutOfThreads()) {
      long due = Math.min(held.validUntil, held.releaseCalledAt);
      long late = held.toldAt - due - stopped(held.machine, due, held.toldAt);
      // A set does not report its renewals, so its last validity may not have been observed.
      if (!held.isOfSet && held.releaseCalledAt > held.validUntil && late > bound(held.machine)) {
        scheduler.fail(
            "LOSS-02",
            held + ": its loss (" + held.reason + ") was signalled " + late / MS + " ms late");
      }
      if (calm && held.reason.matches("SUSPENDED|SESSION_ENDED")) {
        scheduler.fail("LOSS-03", held + ": lost in a calm world: " + held.reason);
      }
    }
  }
}
