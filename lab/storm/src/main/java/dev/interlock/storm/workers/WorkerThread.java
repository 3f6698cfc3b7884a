package dev.interlock.storm.workers;

import dev.interlock.Acquirable;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.DaemonThreads;
import dev.interlock.spi.Share;
import dev.interlock.tck.process.Journal;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Acquires locks in every way that the API offers, and uses them as careful and careless programs
 * do: for a short or a long time, with and without renewal, with a release by another thread,
 * abandoned, or cancelled before the grant.
 */
final class WorkerThread extends Thread {
  private static final AtomicInteger NUMBERS = new AtomicInteger();
  private static final Duration POLL_INTERVAL = Duration.ofMillis(20);

  /** A later answer suggests a fault. */
  private static final Duration LATE_ANSWER = Duration.ofMillis(150);

  private static final int MAX_ABANDONED_PER_THOUSAND = 15;

  /** High, because a lease that expires while answers are late exposes a wrong validity. */
  private static final int ABANDONED_PER_THOUSAND_IF_LATE = 700;

  private static final int FIRST_LOCK_PER_THOUSAND = 30;

  /** The average time per lease that may be spent on waiting for abandoned leases to expire. */
  private static final Duration ABANDONED_TIME_PER_LEASE = Duration.ofMillis(30);

  private enum Use {
    /** Held for some milliseconds, as by an ordinary program. */
    SHORT,
    /** Held for less than a second. */
    MEDIUM,
    /** Held for up to two TTLs. */
    LONG,
    /** Left to expire. */
    ABANDONED
  }

  private final Assignment assignment;
  private final LockClient client;
  private final LeaseJournal leaseJournal;
  private final Journal journal;
  private final BooleanSupplier stopped;
  private final Random random;
  private final Runnable onLease;

  private int abandonedPerThousand = MAX_ABANDONED_PER_THOUSAND;

  private volatile String lockName = "";

  /**
   * Prepares a thread.
   *
   * @param stopped whether the thread must end
   * @param onLease called after each acquisition of a lease
   */
  WorkerThread(
      Assignment assignment,
      LockClient client,
      LeaseJournal leaseJournal,
      Journal journal,
      BooleanSupplier stopped,
      Runnable onLease,
      Random random) {
    super("worker-" + NUMBERS.incrementAndGet());
    setDaemon(true);
    this.assignment = assignment;
    this.client = client;
    this.leaseJournal = leaseJournal;
    this.journal = journal;
    this.stopped = stopped;
    this.random = random;
    this.onLease = onLease;
  }

  /** {@return the name of the lock that this thread waits for or uses} */
  String lockName() {
    return lockName;
  }

  @Override
  public void run() {
    try (GuardedStore.Connection store = new GuardedStore.Connection(assignment.storePort())) {
      while (!stopped.getAsBoolean()) {
        UsedName name = assignment.names().get(nextName());
        lockName = name.name();
        acquireAndUse(name, store);
        TimeUnit.MICROSECONDS.sleep(random.nextInt(20_000));
      }
    } catch (InterruptedException e) {
      // The thread must end.
    } catch (Exception | Error e) {
      if (!stopped.getAsBoolean() || !(e instanceof IllegalStateException)) {
        journal.record(new Entry.RuleBroken("FAULT-01", getName() + " failed: " + describe(e)));
      }
    }
  }

  /**
   * Draws the next name. The first lock is held for long and always has waiters, so a holder that
   * loses it has a successor at once. The threads spend as much time on it as on all others.
   */
  private int nextName() {
    int others = assignment.names().size() - 1;
    return random.nextInt(1_000) < FIRST_LOCK_PER_THOUSAND ? 0 : 1 + random.nextInt(others);
  }

  private Use use(UsedName name) {
    int draw = random.nextInt(1_000);
    if (draw
        < (leaseJournal.wasLastAnswerLate()
            ? ABANDONED_PER_THOUSAND_IF_LATE
            : abandonedPerThousand)) {
      return Use.ABANDONED;
    }
    if (name.equals(assignment.names().get(0))) {
      return draw >= 300 ? Use.LONG : Use.MEDIUM;
    }
    return draw >= 960 ? (draw >= 985 ? Use.LONG : Use.MEDIUM) : Use.SHORT;
  }

  private static String describe(Throwable e) {
    return Stream.concat(Stream.of(e), Stream.of(e.getStackTrace()))
        .map(String::valueOf)
        .collect(Collectors.joining(" at "));
  }

  private void acquireAndUse(UsedName name, GuardedStore.Connection store)
      throws InterruptedException, IOException {
    Use use = use(name);
    boolean isManual = random.nextInt(4) == 0;
    Share share = name.drawShare(random);
    Consumer<LockOptions.Builder> options =
        use == Use.ABANDONED
            ? assignment::expiring
            : isManual ? Assignment::manuallyRenewed : Assignment::autoRenewed;
    Acquirable<Lease> lock = name.share(share, client, options);
    long requestedAt = System.nanoTime();
    try {
      Optional<Lease> lease = acquire(lock);
      if (lease.isPresent()) {
        LeaseJournal.RecordedLease recorded =
            leaseJournal.recordGrant(lease.get(), share, requestedAt);
        onLease.run();
        try {
          if (share.isWhole()) {
            useAlone(lease.get(), recorded, use, isManual, store);
          } else {
            use(lease.get(), recorded, use, isManual);
          }
          if (use != Use.ABANDONED) {
            release(lease.get(), recorded);
          }
        } catch (InterruptedException | IOException | RuntimeException e) {
          recorded.release(lease.get()); // or it would be renewed forever
          throw e;
        }
      } else {
        recordNoLease(Entry.Why.BUSY, requestedAt);
      }
    } catch (CancellationException e) {
      recordNoLease(Entry.Why.CANCELLED, requestedAt);
    } catch (LockException e) {
      recordNoLease(Entry.Why.UNAVAILABLE, requestedAt);
      TimeUnit.MILLISECONDS.sleep(10);
    }
  }

  private void recordNoLease(Entry.Why why, long requestedAt) {
    journal.record(new Entry.NoLease(why, lockName, requestedAt, System.nanoTime()));
  }

  private Optional<Lease> acquire(Acquirable<Lease> lock) throws InterruptedException {
    return switch (random.nextInt(10)) {
      case 0, 1 -> Optional.of(lock.acquire());
      case 2 -> lock.tryAcquire();
      case 3 -> waitThenCancel(lock.acquireAsync());
      default -> lock.tryAcquire(Duration.ofMillis(200 + random.nextInt(1_000)));
    };
  }

  private Optional<Lease> waitThenCancel(CompletableFuture<Lease> attempt)
      throws InterruptedException {
    try {
      try {
        return Optional.of(attempt.get(random.nextInt(200_000), TimeUnit.MICROSECONDS));
      } catch (TimeoutException e) {
        attempt.cancel(true);
        return Optional.of(attempt.get()); // fails if it has been cancelled
      }
    } catch (ExecutionException e) {
      if (e.getCause() instanceof LockException failure) {
        throw failure;
      }
      throw new IllegalStateException(e.getCause());
    }
  }

  /** Uses an exclusive lease: reads from the stores that it protects, and writes to them. */
  private void useAlone(
      Lease lease,
      LeaseJournal.RecordedLease recorded,
      Use use,
      boolean isManual,
      GuardedStore.Connection store)
      throws InterruptedException, IOException {
    long token = LeaseJournal.tokenOf(lease);
    String name = lease.name();
    OptionalLong guarded = token == 0 ? OptionalLong.empty() : store.read(name, token);
    long unguarded = store.readUnguarded(name);
    use(lease, recorded, use, isManual);
    // Like a careless program, this does not check the lease: the token must protect the store.
    if (guarded.isPresent()) {
      store.write(name, token, guarded.getAsLong() + 1);
    }
    store.writeUnguarded(name, unguarded + 1);
  }

  private void use(Lease lease, LeaseJournal.RecordedLease recorded, Use use, boolean isManual)
      throws InterruptedException {
    switch (use) {
      case SHORT -> TimeUnit.MICROSECONDS.sleep(random.nextInt(8_000));
      case MEDIUM -> hold(lease, recorded, atMost(Duration.ofMillis(800)), isManual);
      case LONG -> hold(lease, recorded, atMost(assignment.ttl().multipliedBy(2)), isManual);
      case ABANDONED -> {
        recorded.recordAbandonment();
        abandon(lease, recorded);
      }
    }
  }

  private Duration atMost(Duration limit) {
    return Duration.ofMillis(1 + random.nextInt((int) limit.toMillis()));
  }

  /** Waits until the lease has expired. The longer that takes, the fewer leases are abandoned. */
  private void abandon(Lease lease, LeaseJournal.RecordedLease recorded)
      throws InterruptedException {
    long ttlMillis = lease.effectiveTtl().toMillis();
    abandonedPerThousand =
        (int)
            Math.min(
                MAX_ABANDONED_PER_THOUSAND,
                1 + ABANDONED_TIME_PER_LEASE.toMillis() * 1_000 / ttlMillis);
    while (lease.isHeld()) {
      TimeUnit.NANOSECONDS.sleep(POLL_INTERVAL.toNanos());
    }
    recorded.awaitLossReport(lease, assignment.bound());
  }

  /** Uses the lease for the given time, or until it is lost. */
  private void hold(
      Lease lease, LeaseJournal.RecordedLease recorded, Duration time, boolean isManual)
      throws InterruptedException {
    long until = System.nanoTime() + time.toNanos();
    long third = lease.effectiveTtl().toNanos() / 3;
    long renewAt = System.nanoTime() + third;
    while (lease.isHeld() && System.nanoTime() - until < 0 && !stopped.getAsBoolean()) {
      recorded.recordValidity(lease);
      if (isManual && System.nanoTime() - renewAt > 0) {
        renewAt += third;
        renew(lease, recorded);
      }
      TimeUnit.NANOSECONDS.sleep(POLL_INTERVAL.toNanos());
    }
    if (!lease.isHeld()) {
      recorded.awaitLossReport(lease, assignment.bound());
    }
  }

  private static void renew(Lease lease, LeaseJournal.RecordedLease recorded)
      throws InterruptedException {
    try {
      lease.renew();
      recorded.recordRenewal(lease);
    } catch (LeaseLostException | LockUnavailableException e) {
      // The next check of the lease notices a loss.
    }
  }

  /** Releases the lease on this thread or another. */
  private void release(Lease lease, LeaseJournal.RecordedLease recorded)
      throws InterruptedException {
    long start = System.nanoTime();
    ReleaseOutcome outcome =
        random.nextInt(10) == 0 ? releaseElsewhere(lease, recorded) : recorded.release(lease);
    leaseJournal.setLastAnswerLate(System.nanoTime() - start > LATE_ANSWER.toNanos());
    if (outcome == ReleaseOutcome.ALREADY_LOST) {
      recorded.awaitLossReport(lease, assignment.bound());
    }
  }

  private static ReleaseOutcome releaseElsewhere(Lease lease, LeaseJournal.RecordedLease recorded)
      throws InterruptedException {
    try {
      return CompletableFuture.supplyAsync(
              () -> recorded.release(lease),
              task -> DaemonThreads.factory("interlock-storm-elsewhere").newThread(task).start())
          .get();
    } catch (ExecutionException e) {
      throw new IllegalStateException("a release on another thread failed", e.getCause());
    }
  }
}
