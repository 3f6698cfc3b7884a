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

/** The cost of the engine alone, on the cheapest backend. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(2)
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 6, time = 1)
public class EngineBenchmark {
  private final ReentrantLock bare = new ReentrantLock();
  private final LockClient client = LockClient.open("memory:engine-benchmark");
  private final DistributedLock free = client.lock("free");
  private final DistributedLock ofFixedTtl =
      client.lock("fixed", options -> options.autoRenew(false));
  private final DistributedLock busy = client.lock("busy");
  private @Nullable Lease held;

  /** Acquires the lock that the benchmark of a busy lock finds held. */
  @Setup
  public void hold() throws InterruptedException {
    held = busy.acquire();
  }

  /** Releases what is held. */
  @TearDown
  public void close() {
    client.close();
  }

  /** For comparison: a lock within the JVM, without a lease, a TTL or a token. */
  @Benchmark
  @SuppressWarnings("LockNotBeforeTry") // nothing can fail between the two
  public void reentrantLock() {
    bare.lock();
    bare.unlock();
  }

  /** Acquires and releases, renewal on. */
  @Benchmark
  public long pair() throws InterruptedException {
    try (Lease lease = free.acquire()) {
      return lease.fencingToken();
    }
  }

  /** Acquires and releases, without renewal. */
  @Benchmark
  public long pairOfFixedTtl() throws InterruptedException {
    try (Lease lease = ofFixedTtl.acquire()) {
      return lease.fencingToken();
    }
  }

  /** Makes the lock object for every pair. */
  @Benchmark
  public long pairFromTheClient() throws InterruptedException {
    try (Lease lease = client.lock("named").acquire()) {
      return lease.fencingToken();
    }
  }

  /** Tries a lock that is already held. */
  @Benchmark
  public Optional<Lease> tryOfABusyLock() throws InterruptedException {
    return busy.tryAcquire();
  }

  /** Checks whether a lease is held, as a loop does before each step. */
  @Benchmark
  public boolean isHeld() {
    return held != null && held.isHeld();
  }
}
