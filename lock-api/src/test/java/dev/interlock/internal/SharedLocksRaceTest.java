package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Acquirable;
import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.DistributedReadWriteLock;
import dev.interlock.DistributedSemaphore;
import dev.interlock.Lease;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.memory.MemoryProvider;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.BackendInfoBuilder;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Threads of several clients read, write and take permits; some time out or are cancelled. */
class SharedLocksRaceTest {

  private static final int ROUNDS = 400;
  private static final int LIMIT = 4;
  private static final LockOptions OPTIONS =
      LockOptions.builder().pollInterval(Duration.ofMillis(20)).build();

  /** The weights that are held now. */
  private final AtomicLong reading = new AtomicLong();

  private final AtomicLong writing = new AtomicLong();
  private final AtomicLong permits = new AtomicLong();
  private final Set<Long> tokens = ConcurrentHashMap.newKeySet();

  /**
   * The memory backend without its queue and without the capabilities that need it: clients poll.
   */
  private record Polled(LockBackend memory) implements LockBackend {
    @Override
    public BackendInfo info() {
      BackendInfo info = memory.info();
      return BackendInfoBuilder.from(info)
          .capabilities(
              EnumSet.of(
                  Capability.FENCING,
                  Capability.REVOKE,
                  Capability.READ_WRITE,
                  Capability.SEMAPHORE))
          .build();
    }

    @Override
    public String endpoint() {
      return memory.endpoint();
    }

    @Override
    public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
      // Long enough for a permit to be released while a head asks for one.
      LockSupport.parkNanos(50_000);
      return memory.tryAcquire(claim, deadline);
    }

    @Override
    public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
      return memory.renew(grant, deadline);
    }

    @Override
    public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
      return memory.release(claim, deadline);
    }

    @Override
    public LockState inspect(String name, Deadline deadline) throws InterruptedException {
      return memory.inspect(name, deadline);
    }

    @Override
    public boolean forceRelease(String name, Deadline deadline) throws InterruptedException {
      return memory.forceRelease(name, deadline);
    }

    @Override
    public void close() {
      memory.close();
    }
  }

  private static LockBackend open(BackendContext context, boolean queues) {
    LockBackend memory = new MemoryProvider().open(LockUri.parse("memory:races"), context);
    return queues ? memory : new Polled(memory);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void weightsNeverExceedTheCapacity(boolean queues) throws Exception {
    List<DefaultLockClient> clients = new ArrayList<>();
    ExecutorService threads = Executors.newCachedThreadPool();
    try {
      List<Future<?>> workers = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        DefaultLockClient client =
            new DefaultLockClient(context -> open(context, queues), OPTIONS, TimeSource.system());
        clients.add(client);
        for (int j = 0; j < 4; j++) {
          long seed = i * 100L + j;
          workers.add(
              threads.submit(
                  () -> {
                    work(client, new Random(seed));
                    return null;
                  }));
        }
      }
      for (Future<?> worker : workers) {
        worker.get(60, TimeUnit.SECONDS);
      }
      for (DefaultLockClient client : clients) {
        Waits.until("the clients to be done with all", () -> client.residue() == 0);
      }
      assertTrue(!clients.get(0).admin().inspect("book").isHeld());
      assertTrue(!clients.get(0).admin().inspect("permits").isHeld());
    } finally {
      threads.shutdownNow();
      clients.forEach(DefaultLockClient::close);
    }
  }

  private void work(DefaultLockClient client, Random random) throws Exception {
    DistributedReadWriteLock book = client.readWriteLock("book");
    DistributedSemaphore semaphore = client.semaphore("permits", LIMIT);
    for (int i = 0; i < ROUNDS; i++) {
      int weight = 1 + random.nextInt(LIMIT);
      switch (random.nextInt(5)) {
        case 0 -> hold(acquire(book.writeLock(), random), this::write);
        case 1, 2 -> hold(acquire(book.readLock(), random), this::read);
        default -> hold(acquire(semaphore.permits(weight), random), () -> take(weight));
      }
    }
  }

  private static Optional<Lease> acquire(Acquirable<Lease> lock, Random random) throws Exception {
    switch (random.nextInt(5)) {
      case 0 -> {
        return lock.tryAcquire();
      }
      case 1 -> {
        try {
          return lock.tryAcquire(Duration.ofNanos(random.nextInt(2_000_000)));
        } catch (LockUnavailableException e) {
          // On a busy machine the thread that asks the store may not run in time.
          return Optional.empty();
        }
      }
      case 2 -> {
        CompletableFuture<Lease> future = lock.acquireAsync();
        if (random.nextBoolean()) {
          future.cancel(false);
        }
        try {
          return Optional.of(future.get(30, TimeUnit.SECONDS));
        } catch (ExecutionException | CancellationException e) {
          return Optional.empty();
        }
      }
      default -> {
        return Optional.of(lock.acquire());
      }
    }
  }

  private void hold(Optional<Lease> lease, Runnable work) {
    if (lease.isPresent()) {
      try (Lease held = lease.get()) {
        assertTrue(tokens.add(held.fencingToken() * 2 + (held.name().equals("book") ? 0 : 1)));
        work.run();
        assertTrue(held.isHeld());
      }
    }
  }

  private void write() {
    assertEquals(1, writing.incrementAndGet());
    assertEquals(0, reading.get());
    Thread.onSpinWait();
    writing.decrementAndGet();
  }

  private void read() {
    reading.incrementAndGet();
    assertEquals(0, writing.get());
    Thread.onSpinWait();
    reading.decrementAndGet();
  }

  private void take(int weight) {
    assertTrue(permits.addAndGet(weight) <= LIMIT);
    Thread.onSpinWait();
    permits.addAndGet(-weight);
  }
}
