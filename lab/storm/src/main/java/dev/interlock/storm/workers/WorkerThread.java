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
 * Acquires locks in every way that the API offers, and uses them as programs do, careful or not:
 * for a short or a long time, with and without renewal, released by another thread, abandoned, or
 * cancelled before they are granted.
 */
final class WorkerThread extends Thread {
  private static final AtomicInteger NUMBERS = new AtomicInteger();
  private static final Duration LOOK = Duration.ofMillis(20);

  /** An answer that takes longer is a sign of a fault. */
  private static final Duration LATE = Duration.ofMillis(150);

  private static final int MOST_ABANDONED = 15;

  /** While answers are late: leases that expire then show a client that miscounts validity. */
  private static final int ABANDONED_IF_SLOW = 700;

  /** Of a thousand leases, so many are of the lock that is held for long. */
  private static final int TO_THE_SLOW = 30;

  /** How much time per lease may go to leases that expire, on average. */
  private static final Duration LOST_TO_ABANDONED = Duration.ofMillis(30);

  /** How a lease is used. */
  private enum Use {
    /** Used for a moment, as by an ordinary program. */
    SHORT,
    /** Held for a while. */
    HELD,
    /** Held for TTLs. */
    LONG,
    /** Neither used nor released. */
    ABANDONED
  }

  private final Assignment assignment;
  private final LockClient client;
  private final LeaseJournal recorder;
  private final Journal journal;
  private final BooleanSupplier over;
  private final Random random;
  private final Runnable onLease;

  /** Of a thousand leases, so many are left to expire. */
  private int abandoned = MOST_ABANDONED;

  private volatile String lockName = "";

  /**
   * Prepares a thread.
   *
   * @param over whether the work is over
   * @param onLease called after every lease that was acquired
   */
  WorkerThread(
      Assignment assignment,
      LockClient client,
      LeaseJournal recorder,
      Journal journal,
      BooleanSupplier over,
      Runnable onLease,
      Random random) {
    super("worker-" + NUMBERS.incrementAndGet());
    setDaemon(true);
    this.assignment = assignment;
    this.client = client;
    this.recorder = recorder;
    this.journal = journal;
    this.over = over;
    this.random = random;
    this.onLease = onLease;
  }

  /** The name of the lock that it waits for or uses. */
  String lockName() {
    return lockName;
  }

  @Override
  public void run() {
    try (GuardedStore.Connection store = new GuardedStore.Connection(assignment.storePort())) {
      while (!over.getAsBoolean()) {
        UsedName name = assignment.names().get(nextName());
        lockName = name.name();
        takeAndUse(name, store);
        TimeUnit.MICROSECONDS.sleep(random.nextInt(20_000));
      }
    } catch (InterruptedException e) {
      // The work is over.
    } catch (Exception | Error e) {
      if (!over.getAsBoolean() || !(e instanceof IllegalStateException)) {
        journal.record(new Entry.Broken("FAULT-01", getName() + " failed: " + stackOf(e)));
      }
    }
  }

  /**
   * The first lock is held for long and always waited for, so a holder that loses it has a
   * successor at once. The threads spend as much time on it as on all others.
   */
  private int nextName() {
    int others = assignment.names().size() - 1;
    return random.nextInt(1_000) < TO_THE_SLOW ? 0 : 1 + random.nextInt(others);
  }

  private Use use(UsedName name) {
    int what = random.nextInt(1_000);
    if (what < (recorder.isSlow() ? ABANDONED_IF_SLOW : abandoned)) {
      return Use.ABANDONED;
    }
    if (name.equals(assignment.names().get(0))) {
      return what >= 300 ? Use.LONG : Use.HELD;
    }
    return what >= 960 ? (what >= 985 ? Use.LONG : Use.HELD) : Use.SHORT;
  }

  private static String stackOf(Throwable e) {
    return Stream.concat(Stream.of(e), Stream.of(e.getStackTrace()))
        .map(String::valueOf)
        .collect(Collectors.joining(" at "));
  }

  private void takeAndUse(UsedName name, GuardedStore.Connection store)
      throws InterruptedException, IOException {
    Use use = use(name);
    boolean isFixed = random.nextInt(4) == 0;
    Share share = name.anyShare(random);
    Consumer<LockOptions.Builder> options =
        use == Use.ABANDONED
            ? assignment::passing
            : isFixed ? Assignment::fixed : Assignment::renewed;
    Acquirable<Lease> lock = name.share(share, client, options);
    long requestedAt = System.nanoTime();
    try {
      Optional<Lease> had = take(lock);
      if (had.isPresent()) {
        LeaseJournal.Recorded recorded = recorder.granted(had.get(), share, requestedAt);
        onLease.run();
        try {
          if (share.isWhole()) {
            useAlone(had.get(), recorded, use, isFixed, store);
          } else {
            use(had.get(), recorded, use, isFixed);
          }
          if (use != Use.ABANDONED) {
            giveBack(had.get(), recorded);
          }
        } catch (InterruptedException | IOException | RuntimeException e) {
          recorded.release(had.get()); // so that it is not renewed for ever
          throw e;
        }
      } else {
        none(Entry.Why.BUSY, requestedAt);
      }
    } catch (CancellationException e) {
      none(Entry.Why.CANCELLED, requestedAt);
    } catch (LockException e) {
      none(Entry.Why.UNAVAILABLE, requestedAt);
      TimeUnit.MILLISECONDS.sleep(10);
    }
  }

  private void none(Entry.Why why, long requestedAt) {
    journal.record(new Entry.NoLease(why, lockName, requestedAt, System.nanoTime()));
  }

  private Optional<Lease> take(Acquirable<Lease> lock) throws InterruptedException {
    return switch (random.nextInt(10)) {
      case 0, 1 -> Optional.of(lock.acquire());
      case 2 -> lock.tryAcquire();
      case 3 -> changeOfMind(lock.acquireAsync());
      default -> lock.tryAcquire(Duration.ofMillis(200 + random.nextInt(1_000)));
    };
  }

  /** Waits for a while, then cancels. */
  private Optional<Lease> changeOfMind(CompletableFuture<Lease> attempt)
      throws InterruptedException {
    try {
      try {
        return Optional.of(attempt.get(random.nextInt(200_000), TimeUnit.MICROSECONDS));
      } catch (TimeoutException e) {
        attempt.cancel(true);
        return Optional.of(attempt.get()); // or it has been cancelled
      }
    } catch (ExecutionException e) {
      if (e.getCause() instanceof LockException failure) {
        throw failure;
      }
      throw new IllegalStateException(e.getCause());
    }
  }

  /** Uses what nobody else holds: reads the stores that it protects, and writes to them. */
  private void useAlone(
      Lease lease,
      LeaseJournal.Recorded recorded,
      Use use,
      boolean isFixed,
      GuardedStore.Connection store)
      throws InterruptedException, IOException {
    long token = LeaseJournal.tokenOf(lease);
    String name = lease.name();
    OptionalLong guarded = token == 0 ? OptionalLong.empty() : store.read(name, token);
    long unguarded = store.readUnguarded(name);
    use(lease, recorded, use, isFixed);
    // Without checking the lease, as careless programs do: the token has to suffice.
    if (guarded.isPresent()) {
      store.write(name, token, guarded.getAsLong() + 1);
    }
    store.writeUnguarded(name, unguarded + 1);
  }

  private void use(Lease lease, LeaseJournal.Recorded recorded, Use use, boolean isFixed)
      throws InterruptedException {
    switch (use) {
      case SHORT -> TimeUnit.MICROSECONDS.sleep(random.nextInt(8_000));
      case HELD -> hold(lease, recorded, atMost(Duration.ofMillis(800)), isFixed);
      case LONG -> hold(lease, recorded, atMost(assignment.ttl().multipliedBy(2)), isFixed);
      case ABANDONED -> {
        recorded.abandoned();
        abandon(lease, recorded);
      }
    }
  }

  private Duration atMost(Duration limit) {
    return Duration.ofMillis(1 + random.nextInt((int) limit.toMillis()));
  }

  /** Waits until it has expired. The longer that takes, the less often it is done. */
  private void abandon(Lease lease, LeaseJournal.Recorded recorded) throws InterruptedException {
    long dear = lease.effectiveTtl().toMillis();
    abandoned = (int) Math.min(MOST_ABANDONED, 1 + LOST_TO_ABANDONED.toMillis() * 1_000 / dear);
    while (lease.isHeld()) {
      TimeUnit.NANOSECONDS.sleep(LOOK.toNanos());
    }
    recorded.assertReported(lease, assignment.bound());
  }

  /** Uses the lease while it is held, at most for the given time. */
  private void hold(Lease lease, LeaseJournal.Recorded recorded, Duration time, boolean isFixed)
      throws InterruptedException {
    long until = System.nanoTime() + time.toNanos();
    long third = lease.effectiveTtl().toNanos() / 3;
    long renewAt = System.nanoTime() + third;
    while (lease.isHeld() && System.nanoTime() - until < 0 && !over.getAsBoolean()) {
      recorded.extend(lease);
      if (isFixed && System.nanoTime() - renewAt > 0) {
        renewAt += third;
        renew(lease, recorded);
      }
      TimeUnit.NANOSECONDS.sleep(LOOK.toNanos());
    }
    if (!lease.isHeld()) {
      recorded.assertReported(lease, assignment.bound());
    }
  }

  private static void renew(Lease lease, LeaseJournal.Recorded recorded)
      throws InterruptedException {
    try {
      lease.renew();
      recorded.renewed(lease);
    } catch (LeaseLostException | LockUnavailableException e) {
      // The next check of the lease shows it.
    }
  }

  /** By this thread, or by another. */
  private void giveBack(Lease lease, LeaseJournal.Recorded recorded) throws InterruptedException {
    long asked = System.nanoTime();
    ReleaseOutcome outcome =
        random.nextInt(10) == 0 ? releaseElsewhere(lease, recorded) : recorded.release(lease);
    recorder.answered(System.nanoTime() - asked > LATE.toNanos());
    if (outcome == ReleaseOutcome.ALREADY_LOST) {
      recorded.assertReported(lease, assignment.bound());
    }
  }

  private static ReleaseOutcome releaseElsewhere(Lease lease, LeaseJournal.Recorded recorded)
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
