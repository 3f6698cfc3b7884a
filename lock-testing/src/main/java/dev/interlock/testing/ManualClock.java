package dev.interlock.testing;

import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * A clock that stands still until a test advances it.
 *
 * <pre>{@code
 * ManualClock clock = new ManualClock();
 * try (TestStore store = new TestStore(clock); LockClient client = store.open()) {
 *   Lease lease = client.lock("job").acquire();
 *   store.goDown();
 *   clock.advance(lease.effectiveTtl());
 *   lease.onLoss().join(); // the loss was signalled, and no time has passed
 * }
 * }</pre>
 *
 * <p>{@link #advance} does not wait for its effects. A client renews and signals losses on its own
 * threads, soon after the clock has moved: wait for the effect, as in the example. Advancing by
 * more than a lease's validity at once simulates a long pause of the process: the lease is lost,
 * even with automatic renewal. To let renewals happen, advance by less than a third of the TTL, and
 * wait for the {@code Renewed} event each time.
 *
 * <p>Safe for use by several threads.
 */
public final class ManualClock implements TimeSource {

  private final AtomicLong monotonic = new AtomicLong();
  private final AtomicLong wall;
  private final Map<Thread, Long> parked = new ConcurrentHashMap<>();

  /** Creates a clock whose wall time is 2030-01-01T00:00:00Z. */
  public ManualClock() {
    this(Instant.parse("2030-01-01T00:00:00Z"));
  }

  /**
   * Creates a clock with the given wall time.
   *
   * @param wallTime the initial time of the wall clock
   */
  public ManualClock(Instant wallTime) {
    this.wall = new AtomicLong(TimeUnit.MILLISECONDS.toNanos(wallTime.toEpochMilli()));
  }

  /**
   * Advances the monotonic clock and the wall clock.
   *
   * @param duration the time by which to advance
   * @throws IllegalArgumentException if it is negative
   */
  public void advance(Duration duration) {
    sleepMachine(duration);
    monotonic.addAndGet(duration.toNanos());
    parked.forEach(
        (thread, until) -> {
          if (until - nanoTime() <= 0) {
            LockSupport.unpark(thread);
          }
        });
  }

  /**
   * Simulates sleep of the machine: advances the wall clock, but not the monotonic clock. The time
   * counts against the validity of leases.
   *
   * @param duration how long the machine sleeps
   * @throws IllegalArgumentException if it is negative
   */
  public void sleepMachine(Duration duration) {
    if (duration.isNegative()) {
      throw new IllegalArgumentException("a clock can only be advanced, not by " + duration);
    }
    wall.addAndGet(duration.toNanos());
  }

  @Override
  public long nanoTime() {
    return monotonic.get();
  }

  @Override
  public long wallMillis() {
    return TimeUnit.NANOSECONDS.toMillis(wall.get());
  }

  @Override
  public void parkUntil(Object blocker, long untilNanos) {
    Thread thread = Thread.currentThread();
    parked.put(thread, untilNanos);
    try {
      // A thread that advances the clock after this check finds this one in the map.
      if (untilNanos - nanoTime() > 0) {
        LockSupport.park(blocker);
      }
    } finally {
      parked.remove(thread);
    }
  }
}
