package dev.interlock.compare;

import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** Measures the engine alone, on the {@code memory:} backend. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(2)
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 6, time = 1)
public class EngineBenchmark {
  private final ReentrantLock reentrant = new ReentrantLock();
  private final LockClient client = LockClient.open("memory:engine-benchmark");
  private final DistributedLock free = client.lock("free");
  private final DistributedLock fixedTtl =
      client.lock("fixed", options -> options.autoRenew(false));
  private final DistributedLock busy = client.lock("busy");
  private @Nullable Lease held;

  /** Acquires the lock for the benchmarks of a lock that is held. */
  @Setup
  public void hold() throws InterruptedException {
    held = busy.acquire();
  }

  /** Closes the client, which releases its leases. */
  @TearDown
  public void close() {
    client.close();
  }

  /** Measures, for comparison, a lock within the JVM, without a lease, a TTL or a token. */
  @Benchmark
  @SuppressWarnings("LockNotBeforeTry") // nothing in between can fail
  public void reentrantLock() {
    reentrant.lock();
    reentrant.unlock();
  }

  /** Acquires and releases a lock with renewal. */
  @Benchmark
  public long cycle() throws InterruptedException {
    try (Lease lease = free.acquire()) {
      return lease.fencingToken();
    }
  }

  /** Acquires and releases a lock without renewal. */
  @Benchmark
  public long cycleOfFixedTtl() throws InterruptedException {
    try (Lease lease = fixedTtl.acquire()) {
      return lease.fencingToken();
    }
  }

  /** Acquires and releases a lock with a new lock object for each cycle. */
  @Benchmark
  public long cycleWithNewLockObject() throws InterruptedException {
    try (Lease lease = client.lock("named").acquire()) {
      return lease.fencingToken();
    }
  }

  /** Tries to acquire a lock that is already held. */
  @Benchmark
  public Optional<Lease> tryAcquireOfBusyLock() throws InterruptedException {
    return busy.tryAcquire();
  }

  /** Checks whether a lease is held, as a loop does before each step. */
  @Benchmark
  public boolean isHeld() {
    return held != null && held.isHeld();
  }
}
