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

/** The record of everything that the programs of a world observe, with the checks of it. */
public final class Journal {

  public static final long NEVER = Long.MAX_VALUE;

  private final Scheduler scheduler;
  private final boolean undisturbed;
  private final boolean traced;
  private boolean over;
  private final List<Event> events = new ArrayList<>();
  private final List<ObservedLease> leases = new ArrayList<>();
  private final Map<Machine, Long> closings = new HashMap<>();
  private final Set<String> revoked = new HashSet<>();
  private final Map<String, Long> lossesReportedByBackend = new HashMap<>();
  private final ToLongFunction<ObservedLease> keptUntil;
  private final List<String> lines = new ArrayList<>();
  private final long start;

  public final HolderCheck holderCheck;
  public final RequestCheck requestCheck;
  public final FairnessCheck fairnessCheck;
  public final RenewalCheck renewalCheck;
  public final OutageCheck outageCheck;
  public final EmptyAnswerCheck emptyAnswerCheck;

  /**
   * Creates an empty journal.
   *
   * @param keptUntil returns the time until which the store keeps a lease without renewal
   * @param undisturbed whether only its release ends a lease that is renewed
   */
  public Journal(
      Scheduler scheduler,
      long requestTimeout,
      long ttl,
      ToLongFunction<ObservedLease> keptUntil,
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

  /** {@return the time until which the store keeps a lease without renewal} */
  long keptUntil(ObservedLease observed) {
    return keptUntil.applyAsLong(observed);
  }

  /** {@return the time since the beginning, in milliseconds} */
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

  /** Records that all clients are closed. From now on, listeners no longer block. */
  public void end() {
    over = true;
  }

  /** Records a lease. Must be called as soon as the acquisition has returned. */
  public ObservedLease recordGrant(
      Machine machine,
      String name,
      Share share,
      long token,
      long requestedAt,
      @Nullable Lease lease) {
    ObservedLease observed =
        new ObservedLease(this, machine, name, share, token, requestedAt, lease);
    for (ObservedLease earlier : leases) {
      observed.require(
          !undisturbed
              || earlier.minHoldUntil <= scheduler.now()
              || !earlier.name.equals(name)
              || !earlier.excludes(observed),
          "LEASE-11",
          "granted before the minimum hold of " + earlier + " was over");
    }
    leases.add(observed);
    if (observed.initialValidity > 0) {
      observed.requireStored(observed.validUntil);
    }
    fairnessCheck.recordGrant(observed);
    events.add(
        new Event.Granted(
            observed.id,
            name,
            token,
            Thread.currentThread().getName(),
            requestedAt,
            scheduler.now(),
            Math.max(observed.validUntil, scheduler.now()),
            share.weight(),
            share.capacity()));
    scheduler.mix(token);
    note(machine, observed + " granted to " + Thread.currentThread().getName());
    return observed;
  }

  /** Records the time until which a lease and its minimum hold keep others out. */
  public void recordMinimumHold(ObservedLease observed, long until, boolean byStore) {
    if (revoked.contains(observed.name)) {
      return;
    }
    Long closedAt = closings.get(observed.machine);
    if (closedAt == null || closedAt < observed.requestedAt) {
      observed.minHoldUntil = until;
      // The client, and not the store, holds a grant that several readers share.
      observed.isKeptByStore = byStore && !observed.share.equals(Share.READ);
    }
  }

  /** Records a revocation, which may end minimum holds at any time from now on. */
  public void recordRevocation(String name) {
    revoked.add(name);
    for (ObservedLease observed : leases) {
      if (observed.name.equals(name)) {
        observed.minHoldUntil = 0;
      }
    }
  }

  /** Records that the program is about to close a client, which ends its leases. */
  public void recordClosing(Machine machine) {
    note(machine, "closing");
    closings.put(machine, scheduler.now());
    for (ObservedLease observed : leases) {
      if (observed.machine == machine
          && !(observed.isKeptByStore && observed.outcome == ReleaseOutcome.DEFERRED)) {
        observed.minHoldUntil = 0;
      }
      if (observed.machine == machine
          && observed.outcome == null
          && observed.lossesSignalled == 0) {
        events.add(new Event.Ended(observed.id, scheduler.now()));
        observed.closedAt = Math.min(observed.closedAt, scheduler.now());
      }
    }
  }

  /** Records that a backend reports a loss to a client. */
  public void recordBackendLoss(Machine machine, Claim claim, long number) {
    lossesReportedByBackend.putIfAbsent(machine.name() + claim.name() + number, scheduler.now());
    note(machine, claim + " is reported as lost");
  }

  /** {@return the time at which a backend reported the loss of a lease, or NEVER} */
  long backendReportedLossAt(ObservedLease observed) {
    return lossesReportedByBackend.getOrDefault(
        observed.machine.name() + observed.name + observed.token / Grant.LEASES_PER_GRANT, NEVER);
  }
}
