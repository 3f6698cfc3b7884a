package dev.interlock.simulation;

import dev.interlock.Lease;
import dev.interlock.LockEvent;
import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.MultiLease;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.Share;
import dev.interlock.tck.history.Event;
import dev.interlock.tck.history.HistoryChecker;
import dev.interlock.tck.history.Violation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** What happened in a world, as its programs saw it, and the check whether that is allowed. */
final class Journal {

  private static final long MS = 1_000_000;
  private static final String NOT_EXPIRED = "SUSPENDED|SESSION_ENDED|TAKEN";
  static final long NEVER = Long.MAX_VALUE;

  /** How late a thread may send its last request. */
  private static final long ASKED_LATE = 50 * MS;

  /** How late anything that does not depend on the store may be. */
  static final long BOUND = 200 * MS;

  /** A lease, and what its program saw of it. */
  final class Held {
    final String id;
    final String name;
    final Share share;
    final long token;
    final Machine machine;
    final boolean isView;
    final boolean isOfSet;
    final long requestedAt;
    final long grantedAt;

    /** How long it was valid when it was granted. */
    final long leftAtFirst;

    /** At risk when it was granted, so that the warning came before anyone could listen. */
    final boolean wasWarnedBefore;

    long validUntil;

    /** It may have been valid until then, if the machine was stopped while the lease was read. */
    long validAtMost;

    long mustEndBy = NEVER;

    /** A release before leaves the lock taken. */
    long minHoldUntil;

    /** Whether that does not depend on its client any more, once the release is deferred. */
    boolean keptByStore;

    long closedAt = NEVER;
    long releaseCalledAt = NEVER;
    @Nullable ReleaseOutcome outcome;

    boolean renews;
    @Nullable Long atRiskSince;
    long renewedAt;
    int lossesSignalled;
    int releasesReported;
    long lossSignalledAt = NEVER;
    String reason = "";

    private Held(
        Machine machine,
        String name,
        Share share,
        long token,
        long requestedAt,
        @Nullable Lease lease) {
      this.share = share;
      this.requestedAt = requestedAt;
      this.machine = machine;
      this.name = name;
      this.token = token;
      this.isView = lease == null;
      this.isOfSet = lease instanceof MultiLease;
      long before = scheduler.now();
      this.leftAtFirst = lease == null ? 0 : lease.remainingValidity().toNanos();
      this.id = machine.name() + "/" + (leases.size() + 1);
      this.grantedAt = scheduler.now();
      this.validUntil = before + machine.trueNanos(leftAtFirst);
      this.validAtMost = grantedAt + machine.trueNanos(leftAtFirst);
      this.wasWarnedBefore = lease != null && leftAtFirst <= lease.effectiveTtl().toNanos() / 3;
    }

    /** Until when it was certainly held. */
    private long heldUntil() {
      return Math.min(validUntil, Math.min(closedAt, Math.min(releaseCalledAt, lossSignalledAt)));
    }

    /** Whether both cannot be held at once. */
    private boolean excludes(Held other) {
      return (long) share.weight() + other.share.weight() > share.capacity();
    }

    /** Fails unless the condition holds. */
    void require(boolean condition, String rule, String otherwise) {
      if (!condition) {
        scheduler.fail(rule, this + ": " + otherwise);
      }
    }

    /** Records whether it is held, and until when. */
    boolean look(Lease lease) {
      long before = scheduler.now();
      long left = lease.remainingValidity().toNanos();
      if (left > 0) {
        extend(before + machine.trueNanos(left));
        validAtMost = Math.max(validAtMost, scheduler.now() + machine.trueNanos(left));
        requireKept(before + machine.trueNanos(left));
      }
      return left > 0;
    }

    /** Fails if it is valid for longer than the store keeps it, or after its loss. */
    private void requireKept(long until) {
      require(
          until - mustEndBy <= bound(machine),
          "LEASE-04",
          "went on after its lock was taken away or its time");
      long more = until - Math.max(scheduler.now(), keptUntil.applyAsLong(this));
      require(
          more <= MS, "LEASE-03", "valid for " + more / MS + " ms longer than the store keeps it");
      long since = reportedByBackendAt();
      require(
          since == NEVER || lateness(machine, since, scheduler.now()) <= bound(machine),
          "LOSS-02",
          "valid, though the backend has said that it is lost");
    }

    private long reportedByBackendAt() {
      return reportedByBackend.getOrDefault(
          machine.name() + name + token / Grant.LEASES_PER_GRANT, NEVER);
    }

    /** Records that it is valid until then. */
    void extend(long until) {
      validUntil = Math.max(validUntil, until);
      note(machine, id + " seen to be valid until " + (until - start) / MS + " ms");
      events.add(new Event.Extended(id, scheduler.now(), until));
    }

    private boolean isOpen() {
      return releaseCalledAt == NEVER && closedAt == NEVER && lossesSignalled == 0;
    }

    void releasing() {
      if (releaseCalledAt == NEVER) {
        Queueing here = queueing(machine, name);
        here.holders--;
        here.since = scheduler.now();
      }
      releaseCalledAt = Math.min(releaseCalledAt, scheduler.now());
      events.add(new Event.Ended(id, scheduler.now()));
    }

    void released(ReleaseOutcome how) {
      outcome = outcome == null ? how : outcome;
      require(outcome == how, "REL-01", "released as " + outcome + ", then as " + how);
      require(
          minHoldUntil <= scheduler.now()
              || (how != ReleaseOutcome.RELEASED && how != ReleaseOutcome.HANDED_OFF),
          "LEASE-11",
          "released before its minimum hold was over: " + how);
      note(machine, id + " released: " + how);
    }

    void listen(Lease lease, int behaviour) {
      lease.onEvent(
          event -> {
            if (event instanceof LockEvent.Renewed) {
              atRiskSince = null;
              renewedAt = scheduler.now();
              look(lease);
            } else if (event instanceof LockEvent.AtRisk) {
              atRiskSince = scheduler.now();
              note(machine, id + " " + event);
            } else if (event instanceof LockEvent.Lost lost) {
              lossesSignalled++;
              lossSignalledAt = scheduler.now();
              reason = String.valueOf(lost.loss().reason());
              events.add(new Event.Ended(id, scheduler.now()));
              note(machine, id + " lost: " + lost.loss().getMessage());
            } else if (event instanceof LockEvent.Released) {
              releasesReported++;
            }
          });
      if (behaviour == 1) {
        lease.onEvent(
            event -> {
              throw new IllegalArgumentException("a listener that throws");
            });
      } else if (behaviour == 2) {
        lease.onEvent(
            event -> {
              if (!over) {
                blockFor(machine, 3_000 * MS);
              }
            });
      }
    }

    @Override
    public String toString() {
      return id
          + " of \""
          + name
          + "\""
          + (share.isExclusive() ? "" : " as " + Plan.use(share))
          + (token == 0 ? "" : ", token " + token);
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
  private final boolean undisturbed;
  private final boolean traced;
  private boolean over;
  private final List<Event> events = new ArrayList<>();
  private final List<Held> leases = new ArrayList<>();
  private final Map<String, Map<Machine, Queueing>> queueings = new LinkedHashMap<>();
  private final Map<String, Call> calls = new HashMap<>();
  private final Map<Thread, Call> releases = new HashMap<>();
  private final Map<Machine, Long> closings = new HashMap<>();
  private final Set<String> revoked = new HashSet<>();
  private final Map<String, Long> reportedByBackend = new HashMap<>();
  private final ToLongFunction<Held> keptUntil;
  private final List<String> lines = new ArrayList<>();
  private final long start;

  final RenewalCheck renewalCheck;
  final OutageCheck outageCheck;
  final EmptyAnswerCheck emptyAnswerCheck;

  /**
   * Makes an empty journal.
   *
   * @param keptUntil until when the store keeps a lease without renewal
   * @param undisturbed whether nothing but its release ends a lease that is renewed
   */
  Journal(
      Scheduler scheduler,
      Plan.Setting setting,
      ToLongFunction<Held> keptUntil,
      boolean undisturbed,
      boolean traced) {
    this.undisturbed = undisturbed;
    this.scheduler = scheduler;
    this.keptUntil = keptUntil;
    this.traced = traced;
    this.start = scheduler.now();
    this.renewalCheck = new RenewalCheck(scheduler);
    this.outageCheck = new OutageCheck(scheduler, setting.requestTimeout(), setting.ttl());
    this.emptyAnswerCheck = new EmptyAnswerCheck(scheduler, setting.requestTimeout());
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

  /** All clients are closed: listeners that block do so no more, however many events are left. */
  void end() {
    over = true;
  }

  /** Records a lease; call it as soon as the acquisition has returned. */
  Held granted(
      Machine machine,
      String name,
      Share share,
      long token,
      long requestedAt,
      @Nullable Lease lease) {
    Held held = new Held(machine, name, share, token, requestedAt, lease);
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
    queueing(machine, name).holders++;
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
  void staysTaken(Held held, long until, boolean byStore) {
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
  void revokes(String name) {
    revoked.add(name);
    for (Held held : leases) {
      if (held.name.equals(name)) {
        held.minHoldUntil = 0;
      }
    }
  }

  /** Records that the program is about to close a client, which ends its leases. */
  void closing(Machine machine) {
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

  // --- what others see of it ---------------------------------------------------------------------

  private List<Held> heldSince(String name, long from) {
    return leases.stream()
        .filter(held -> held.name.equals(name) && held.grantedAt <= from && held.isOpen())
        .toList();
  }

  /**
   * Fails if a lease that is certainly held is not shown.
   *
   * @param tokens whether the tokens shown are those of leases
   */
  void inspected(LockState state, long from, boolean tokens) {
    Set<Long> shown = new HashSet<>();
    for (LockState.Holder holder : state.holders()) {
      shown.add(holder.fencingToken().orElse(0) / Grant.LEASES_PER_GRANT);
    }
    for (Held held : heldSince(state.name(), from)) {
      boolean isCertain = held.validUntil > scheduler.now() && !held.isView && !held.isOfSet;
      boolean isShown =
          tokens ? shown.contains(held.token / Grant.LEASES_PER_GRANT) : state.isHeld();
      held.require(!isCertain || isShown, "ADMIN-01", "held, but not shown: " + state);
    }
  }

  /** The number of the last grant of a name that a program knows. */
  long newestGrant(String name) {
    return leases.stream()
        .filter(held -> held.name.equals(name))
        .mapToLong(held -> held.token / Grant.LEASES_PER_GRANT)
        .max()
        .orElse(0);
  }

  /** Fails if another leader began before the work of one that has not lost its lease had ended. */
  void worked(Held held) {
    boolean released = held.lossesSignalled > 0 || held.outcome != null;
    for (Held other : leases) {
      held.require(
          !undisturbed
              || released
              || !held.renews
              || !other.name.equals(held.name)
              || other.grantedAt <= held.grantedAt,
          "ELECT-05",
          other + " was granted before the work had ended");
    }
  }

  /** The holder may rely on its lease for as long as it was promised just before, no longer. */
  void forced(String name, long from, long most) {
    for (Held held : heldSince(name, from)) {
      held.mustEndBy = Math.min(held.mustEndBy, scheduler.now() + most);
    }
  }

  /** Fails if a waiter got nothing although no client held the lock. */
  void requireHolder(Machine machine, String name, long from) {
    long free = from;
    for (Held held : leases) {
      if (held.name.equals(name)) {
        free =
            Math.max(
                free, held.isOpen() ? NEVER : Math.min(held.releaseCalledAt, held.lossSignalledAt));
      }
    }
    if (free != NEVER && scheduler.now() - free > 500 * MS) {
      scheduler.fail(
          "WAIT-03",
          machine.name()
              + " got no \""
              + name
              + "\", which no client held for "
              + (scheduler.now() - free) / MS
              + " ms");
    }
  }

  // --- what the store is asked -------------------------------------------------------------------

  /** An acquisition, which the store knows by its holder's label. */
  private static final class Call {
    final long since;
    final long latest;
    final long least;
    long endedAt = NEVER;

    /**
     * The thread that asked last, and the deadline for giving up what it was granted; 0 before
     * that.
     */
    @Nullable Thread asker;

    long givenUpUntil;
    int renewals;
    long lateSince;
    int lateGrants;

    Call(long since, long latest, long least) {
      this.since = since;
      this.latest = latest;
      this.least = least;
    }

    /** Whether the current thread performs it. */
    boolean isUnderWayHere() {
      return asker == Thread.currentThread() && endedAt == NEVER;
    }
  }

  /**
   * Records that an operation begins.
   *
   * @param latest when its last request must have ended, by the machine's clock; or never
   * @param least the least time for each of its requests, if that much is left
   */
  void begins(String label, long latest, long least) {
    calls.put(label, new Call(scheduler.now(), latest, least));
  }

  /** Records that it has returned, or that its future was completed. */
  void ends(String label) {
    Call call = calls.get(label);
    if (call != null && call.endedAt == NEVER) {
      call.endedAt = scheduler.now();
    }
  }

  /** Checks the time of a request for a lock. */
  void asks(Machine machine, Claim claim, Deadline deadline) {
    Call call = calls.get(claim.holder());
    if (call == null) {
      return;
    }
    call.asker = Thread.currentThread();
    call.givenUpUntil = 0;
    long now = scheduler.now();
    if (call.latest != NEVER) {
      long allowed = call.latest + machine.stopped(call.since, now);
      long over = machine.monotonic() - allowed;
      if (over > ASKED_LATE) {
        scheduler.fail(
            "WAIT-02", claim + ": asked for " + over / MS + " ms after its caller's time was over");
      }
      long beyond = deadline.nanos() - allowed;
      if (beyond > ASKED_LATE) {
        scheduler.fail(
            "budget",
            claim + ": may be asked for " + beyond / MS + " ms longer than its caller has");
      }
    }
    long here = machine.monotonic();
    long left = call.latest == NEVER ? NEVER : call.latest - here;
    long less = Math.min(call.least, left) - (deadline.nanos() - here);
    if (less > ASKED_LATE && machine.stopped(call.since, now) == 0) {
      scheduler.fail(
          "budget", claim + ": is asked for " + less / MS + " ms less than its caller may expect");
    }
    if (call.endedAt != NEVER && lateness(machine, call.endedAt, now) > bound(machine)) {
      scheduler.fail("WAIT-08", claim + ": asked for after its end");
    }
  }

  /** Counts renewals before the grant of a set. */
  void renews(Claim claim) {
    Call call = calls.get(claim.holder());
    if (call != null && call.isUnderWayHere()) {
      call.renewals++;
    }
  }

  /** Checks the time of a release: all of a set share the time of one request. */
  void releases(Claim claim, Deadline deadline) {
    Call call = calls.get(claim.holder());
    boolean givesUp = call != null && call.isUnderWayHere();
    Call whole = givesUp ? call : releases.get(Thread.currentThread());
    if (whole == null) {
      return;
    }
    if (whole.givenUpUntil == 0) {
      whole.givenUpUntil = deadline.nanos();
    } else if (deadline.nanos() - whole.givenUpUntil > ASKED_LATE) {
      scheduler.fail(
          givesUp ? "WAIT-02" : "REL-02",
          claim
              + ": all may be given up for "
              + (deadline.nanos() - whole.givenUpUntil) / MS
              + " ms longer than one");
    }
  }

  /** Records that the current thread begins to release a lease. */
  void beginsRelease() {
    releases.put(Thread.currentThread(), new Call(scheduler.now(), NEVER, 0));
  }

  void endsRelease() {
    releases.remove(Thread.currentThread());
  }

  /** How often the operation has renewed the members of a set before its grant. */
  int renewals(String label) {
    Call call = calls.get(label);
    return call == null ? 0 : call.renewals;
  }

  /** Checks that a client whose grants arrive too late asks less and less often. */
  void grantedLate(Claim claim) {
    Call call = calls.get(claim.holder());
    if (call == null) {
      return;
    }
    if (call.lateGrants++ == 0) {
      call.lateSince = scheduler.now();
    }
    long pause = Math.min(2_000 * MS, claim.ttl().toNanos() / 10) / 2;
    if (call.lateGrants > 15 + (scheduler.now() - call.lateSince) / pause) {
      scheduler.fail("backoff", claim + ": asked for again and again, " + call.lateGrants);
    }
  }

  /** Records that a backend reports a loss to a client. */
  void reportsLoss(Machine machine, Claim claim, long number) {
    reportedByBackend.putIfAbsent(machine.name() + claim.name() + number, scheduler.now());
    note(machine, claim + " is reported as lost");
  }

  // --- who waits -------------------------------------------------------------------------------

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

  /**
   * Records that a thread waits from now on.
   *
   * @param until when it gives up, by the machine's clock; or never
   */
  void waits(Machine machine, String name, Share share, long until) {
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

  void waitsNoMore(Machine machine, String name) {
    Queueing here = queueing(machine, name);
    here.waiters--;
    here.threads.removeIf(waiter -> waiter.thread() == Thread.currentThread());
  }

  /** Fails if a client was served before another whose first waiter arrived earlier. */
  void checkFairness(Held held, long margin) {
    if (!held.share.isExclusive()) {
      checkLine(held, margin);
      return;
    }
    long since = queueing(held.machine, held.name).since;
    queueings
        .getOrDefault(held.name, Map.of())
        .forEach(
            (machine, there) -> {
              if (machine != held.machine
                  && held.token % Grant.LEASES_PER_GRANT == 0
                  && there.waiters > 0
                  && there.holders == 0
                  && since - there.since > margin
                  && !stopsSoonAfter(machine, there.since)
                  && !stopsSoonAfter(held.machine, since)) {
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

  /**
   * Fails if another thread of the client, which came before and has been overtaken as often as it
   * may be, still waits a little later. No machine may have been disturbed.
   */
  void checkLocalOrder(Held held, long margin, int allowed) {
    Queueing here = queueing(held.machine, held.name);
    for (Waiter waiter : here.threads) {
      if (held.requestedAt - waiter.since() > margin) {
        scheduler.after(
            margin,
            () -> {
              boolean timesOut =
                  waiter.until() != NEVER && waiter.until() - held.machine.monotonic() < margin;
              if (here.threads.contains(waiter)
                  && !timesOut
                  && waiter.overtaken().incrementAndGet() > allowed) {
                scheduler.fail(
                    "FAIR-01",
                    held
                        + " was granted, and not to "
                        + waiter.thread().getName()
                        + ", which waits as "
                        + Plan.use(waiter.share())
                        + " since "
                        + (held.requestedAt - waiter.since()) / MS
                        + " ms before");
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
        margin,
        (machine, there) -> {
          long since = there.since;
          scheduler.after(
              margin,
              () -> {
                if (there.waiters > 0
                    && there.since == since
                    && machine.stopped(since, scheduler.now()) == 0
                    && held.machine.stopped(held.requestedAt, scheduler.now()) == 0) {
                  scheduler.fail(
                      "FAIR-02",
                      held
                          + " was granted, and not to "
                          + machine.name()
                          + ", which waits as "
                          + Plan.use(there.share)
                          + " since "
                          + (held.requestedAt - since) / MS
                          + " ms before");
                }
              });
        });
  }

  /**
   * Fails if a reader came before a writer that had waited, except for a short time after another
   * writer; or if two writers, one after the other, came before a reader that had waited. Each
   * client has one waiter, and the store no queue.
   */
  void checkTurns(Held held, long margin) {
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
        margin,
        (machine, there) -> {
          if (writes && !there.share.isWhole() && ++there.writers > 1) {
            scheduler.fail(
                "FAIR-02", held + " was granted before a reader at " + machine.name() + " again");
          }
          long after = scheduler.now() - lastWriter;
          boolean waits = there.until == NEVER || there.until - machine.monotonic() > margin;
          if (!writes && there.share.isWhole() && waits && after > TtlServer.WINDOW + margin) {
            scheduler.fail(
                "FAIR-02",
                held
                    + " was granted before a writer at "
                    + machine.name()
                    + " that has waited for "
                    + (scheduler.now() - there.since) / MS
                    + " ms, "
                    + after / MS
                    + " ms after the last writer");
          }
        });
  }

  /** Those on other machines that waited when the store was asked for a lease. */
  private void waitersBefore(Held held, long margin, BiConsumer<Machine, Queueing> action) {
    queueings
        .getOrDefault(held.name, Map.of())
        .forEach(
            (machine, there) -> {
              if (machine != held.machine
                  && there.waiters > 0
                  && held.requestedAt - there.since > margin) {
                action.accept(machine, there);
              }
            });
  }

  /** Whether a machine was stopped when it should have joined the queue. */
  private boolean stopsSoonAfter(Machine machine, long time) {
    return machine.stopped(time, Math.min(scheduler.now(), time + 1_000 * MS)) > 0;
  }

  /** How long something took, not counting the time in which the machine could not run it. */
  static long lateness(Machine machine, long from, long until) {
    return until - from - machine.stopped(from, until) - machine.shortOfThreads(from, until);
  }

  /**
   * How late the signal of a loss may be: a sleep is noticed within a second, and after a stop
   * several threads resume one after the other.
   */
  static long bound(Machine machine) {
    return BOUND + (machine.hasSlept() ? 1_000 * MS : machine.stops().isEmpty() ? 0 : BOUND);
  }

  /** Fails if a call took longer than the bound, not counting stops of the machine. */
  void took(Machine machine, String rule, String what, long from, long bound) {
    long until = scheduler.now();
    long took = until - from - machine.stopped(from, until);
    // After a stop several threads resume one after the other.
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
    if (!outside) {
      checkAgreement();
    }
    for (Held held : leases) {
      if (!held.isView) {
        checkEnd(held, calm);
      }
    }
  }

  /** Fails if a name was two things at once. What was over when it was granted was never held. */
  private void checkAgreement() {
    for (Held held : leases) {
      for (Held other : leases) {
        if (other.name.equals(held.name) && !other.share.agreesWith(held.share)) {
          held.require(
              Math.min(held.heldUntil(), other.heldUntil())
                  <= Math.max(held.grantedAt, other.grantedAt),
              "KIND",
              "was held together with " + other);
        }
      }
    }
  }

  /**
   * Fails if a lease that expired was not reported as at risk in time: for about a third of its
   * TTL.
   */
  private void checkWarning(Held held) {
    // A confirmation may arrive so late that the lease is at risk from then on.
    long due = Math.max(held.validAtMost - held.leftAtFirst / 3, held.renewedAt);
    long at = held.atRiskSince == null ? held.lossSignalledAt : held.atRiskSince;
    long from = held.validUntil - held.leftAtFirst;
    boolean disturbed =
        lateness(held.machine, from, held.lossSignalledAt) != held.lossSignalledAt - from;
    // The end of a maximum hold hides until when the store would have kept the lease.
    boolean hidden = held.mustEndBy != NEVER && held.validAtMost >= held.mustEndBy - BOUND;
    boolean released = held.releaseCalledAt <= (hidden ? held.mustEndBy : due);
    held.require(
        disturbed || held.wasWarnedBefore || released || at - due <= BOUND,
        "LOSS-02",
        "lost without a warning in time");
  }

  private void checkEnd(Held held, boolean calm) {
    int losses = held.lossesSignalled;
    int releases = held.releasesReported;
    ReleaseOutcome outcome = held.outcome;
    held.require(losses <= 1, "LOSS-01", "its loss was signalled " + losses + " times");
    held.require(releases <= 1, "LOSS-03", "its release was reported " + releases + " times");
    held.require(losses == 0 || releases == 0, "LOSS-03", "reported both released and lost");
    held.require(
        losses == 0
            || outcome == null
            || outcome == ReleaseOutcome.ALREADY_LOST
            || outcome == ReleaseOutcome.UNKNOWN,
        "LOSS-03",
        "released, yet reported lost: " + held.reason);
    if (held.machine.isDead()) {
      return;
    }
    held.require(
        outcome != null || losses > 0 || releases > 0,
        "LOSS-01",
        "neither released nor reported lost");
    held.require(
        outcome != ReleaseOutcome.ALREADY_LOST || losses > 0,
        "LOSS-01",
        "release said ALREADY_LOST, but no loss was signalled");
    if (losses > 0) {
      // A set does not report its renewals, so its last validity may not have been observed.
      long due = Math.min(held.isOfSet ? NEVER : held.validAtMost, held.reportedByBackendAt());
      long late = lateness(held.machine, due, held.lossSignalledAt);
      held.require(
          held.releaseCalledAt <= due || late <= bound(held.machine),
          "LOSS-02",
          "its loss (" + held.reason + ") was signalled " + late / MS + " ms late");
      boolean expired = held.reason.equals("EXPIRED");
      if (expired && held.renews && !held.isOfSet) {
        checkWarning(held);
      }
      held.require(
          !calm || !held.reason.matches(held.renews ? NOT_EXPIRED + "|EXPIRED" : NOT_EXPIRED),
          expired ? "LEASE-07" : "LOSS-03",
          "lost in a calm world: " + held.reason);
    }
  }
}
