package dev.interlock.simulation.oracle;

import dev.interlock.Lease;
import dev.interlock.ReleaseOutcome;
import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Grant;
import dev.interlock.spi.Share;
import dev.interlock.tck.history.Event;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** What happened in a world, as its programs saw it, with the checks whether that is allowed. */
public final class Journal {

  public static final long NEVER = Long.MAX_VALUE;

  private final Scheduler scheduler;
  private final boolean undisturbed;
  private final boolean traced;
  private boolean over;
  private final List<Event> events = new ArrayList<>();
  private final List<Held> leases = new ArrayList<>();
  private final Map<Machine, Long> closings = new HashMap<>();
  private final Set<String> revoked = new HashSet<>();
  private final Map<String, Long> reportedByBackend = new HashMap<>();
  private final ToLongFunction<Held> keptUntil;
  private final List<String> lines = new ArrayList<>();
  private final long start;

  public final HolderCheck holderCheck;
  public final RequestCheck requestCheck;
  public final FairnessCheck fairnessCheck;
  public final RenewalCheck renewalCheck;
  public final OutageCheck outageCheck;
  public final EmptyAnswerCheck emptyAnswerCheck;

  /**
   * Makes an empty journal.
   *
   * @param keptUntil until when the store keeps a lease without renewal
   * @param undisturbed whether nothing but its release ends a lease that is renewed
   */
  public Journal(
      Scheduler scheduler,
      long requestTimeout,
      long ttl,
      ToLongFunction<Held> keptUntil,
      boolean undisturbed,
      boolean traced) {
    this.undisturbed = undisturbed;
    this.scheduler = scheduler;
    this.keptUntil = keptUntil;
    this.traced = traced;
    this.start = scheduler.now();
    this.holderCheck = new HolderCheck(scheduler, leases, undisturbed);
    this.requestCheck = new RequestCheck(scheduler);
    this.fairnessCheck = new FairnessCheck(scheduler, leases);
    this.renewalCheck = new RenewalCheck(scheduler);
    this.outageCheck = new OutageCheck(scheduler, requestTimeout, ttl);
    this.emptyAnswerCheck = new EmptyAnswerCheck(scheduler, requestTimeout);
  }

  public List<String> lines() {
    return lines;
  }

  public int leases() {
    return leases.size();
  }

  void add(Event event) {
    events.add(event);
  }

  /** Until when the store keeps a lease without renewal. */
  long keptUntil(Held held) {
    return keptUntil.applyAsLong(held);
  }

  /** The time since the beginning, in milliseconds. */
  long millis(long time) {
    return (time - start) / 1_000_000;
  }

  boolean isOver() {
    return over;
  }

  /** Checks the whole history. */
  public void check(boolean outside, boolean calm) {
    new HistoryCheck(scheduler, leases, events).check(outside, calm);
  }

  public void note(Machine machine, String what) {
    note(machine.name(), what);
  }

  public void note(String who, String what) {
    if (traced) {
      lines.add(
          String.format(
              Locale.ROOT, "%12.3f ms  %-8s %s", (scheduler.now() - start) / 1e6, who, what));
    }
  }

  /** All clients are closed: listeners that block do so no more, however many events are left. */
  public void end() {
    over = true;
  }

  /** Records a lease; call it as soon as the acquisition has returned. */
  public Held granted(
      Machine machine,
      String name,
      Share share,
      long token,
      long requestedAt,
      @Nullable Lease lease) {
    Held held = new Held(this, machine, name, share, token, requestedAt, lease);
    for (Held before : leases) {
      held.require(
          !undisturbed
              || before.minHoldUntil <= scheduler.now()
              || !before.name.equals(name)
              || !before.excludes(held),
          "LEASE-11",
          "granted before the minimum hold of " + before + " was over");
    }
    leases.add(held);
    if (held.leftAtFirst > 0) {
      held.requireKept(held.validUntil);
    }
    fairnessCheck.recordGrant(held);
    events.add(
        new Event.Granted(
            held.id,
            name,
            token,
            Thread.currentThread().getName(),
            requestedAt,
            scheduler.now(),
            Math.max(held.validUntil, scheduler.now()),
            share.weight(),
            share.capacity()));
    scheduler.mix(token);
    note(machine, held + " granted to " + Thread.currentThread().getName());
    return held;
  }

  /** Records until when a lease and its minimum hold keep others out. */
  public void staysTaken(Held held, long until, boolean byStore) {
    if (revoked.contains(held.name)) {
      return;
    }
    Long closing = closings.get(held.machine);
    if (closing == null || closing < held.requestedAt) {
      held.minHoldUntil = until;
      // The client keeps what several readers share.
      held.keptByStore = byStore && !held.share.equals(Share.READ);
    }
  }

  /** Records that a revocation begins, which may end minimum holds at any time from now on. */
  public void revokes(String name) {
    revoked.add(name);
    for (Held held : leases) {
      if (held.name.equals(name)) {
        held.minHoldUntil = 0;
      }
    }
  }

  /** Records that the program is about to close a client, which ends its leases. */
  public void closing(Machine machine) {
    note(machine, "closing");
    closings.put(machine, scheduler.now());
    for (Held held : leases) {
      if (held.machine == machine
          && !(held.keptByStore && held.outcome == ReleaseOutcome.DEFERRED)) {
        held.minHoldUntil = 0;
      }
      if (held.machine == machine && held.outcome == null && held.lossesSignalled == 0) {
        events.add(new Event.Ended(held.id, scheduler.now()));
        held.closedAt = Math.min(held.closedAt, scheduler.now());
      }
    }
  }

  /** Records that a backend reports a loss to a client. */
  public void reportsLoss(Machine machine, Claim claim, long number) {
    reportedByBackend.putIfAbsent(machine.name() + claim.name() + number, scheduler.now());
    note(machine, claim + " is reported as lost");
  }

  /** When a backend reported the loss of a lease. */
  long reportedByBackendAt(Held held) {
    return reportedByBackend.getOrDefault(
        held.machine.name() + held.name + held.token / Grant.LEASES_PER_GRANT, NEVER);
  }
}
