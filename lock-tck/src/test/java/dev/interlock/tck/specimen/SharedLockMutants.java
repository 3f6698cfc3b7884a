package dev.interlock.tck.specimen;

import dev.interlock.Acquirable;
import dev.interlock.DistributedLock;
import dev.interlock.DistributedReadWriteLock;
import dev.interlock.DistributedSemaphore;
import dev.interlock.Lease;
import dev.interlock.LeasedLock;
import dev.interlock.LockClient;
import dev.interlock.ReleaseOutcome;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;

/** Clients that share names wrongly. */
final class SharedLockMutants {
  private SharedLockMutants() {}

  static List<Specimen> all() {
    return MemorySpecimens.of(
        Specimen.mutant("a permit released twice frees two")
            .fault("A repeated release returns another permit that the client holds.")
            .harness(() -> MemoryMutant.ofClient(SharedLockMutants::releasingTwice))
            .refusedBy("SEM-04", "a release ended the hold of another"),
        Specimen.mutant("permits not counted")
            .fault("Impossible numbers of permits are replaced by possible ones.")
            .harness(
                () ->
                    MemoryMutant.ofClient(
                        client ->
                            new ForwardingClient(client) {
                              @Override
                              public DistributedSemaphore semaphore(String name, int limit) {
                                return super.semaphore(name, Math.max(1, limit));
                              }

                              @Override
                              protected DistributedSemaphore altered(DistributedSemaphore right) {
                                return anyNumber(right);
                              }
                            }))
            .refusedBy("SEM-08", "an impossible number of permits was accepted"),
        Specimen.mutant("an upgrade that is granted")
            .fault(
                "A thread that holds the read lock and locks the other side continues as a writer.")
            .harness(
                () ->
                    MemoryMutant.ofClient(
                        client ->
                            new ForwardingClient(client) {
                              @Override
                              protected DistributedReadWriteLock altered(
                                  DistributedReadWriteLock right) {
                                return new Upgrading(right);
                              }
                            }))
            .refusedBy("RW-07", "a thread changed sides"));
  }

  /** Forwards every call to another semaphore. */
  private static class ForwardingSemaphore implements DistributedSemaphore {
    private final DistributedSemaphore right;

    ForwardingSemaphore(DistributedSemaphore right) {
      this.right = right;
    }

    Lease altered(Lease lease) {
      return lease;
    }

    @Override
    public String name() {
      return right.name();
    }

    @Override
    public int limit() {
      return right.limit();
    }

    @Override
    public Acquirable<Lease> permits(int permits) {
      return right.permits(permits);
    }

    @Override
    public Lease acquire() throws InterruptedException {
      return altered(right.acquire());
    }

    @Override
    public Optional<Lease> tryAcquire() {
      return right.tryAcquire().map(this::altered);
    }

    @Override
    public Optional<Lease> tryAcquire(Duration timeout) throws InterruptedException {
      return right.tryAcquire(timeout).map(this::altered);
    }

    @Override
    public CompletableFuture<Lease> acquireAsync() {
      return new ForwardingFuture<>(right.acquireAsync(), this::altered);
    }

    @Override
    public CompletableFuture<Optional<Lease>> tryAcquireAsync() {
      return new ForwardingFuture<>(right.tryAcquireAsync(), lease -> lease.map(this::altered));
    }

    @Override
    public CompletableFuture<Optional<Lease>> tryAcquireAsync(Duration timeout) {
      return new ForwardingFuture<>(
          right.tryAcquireAsync(timeout), lease -> lease.map(this::altered));
    }
  }

  private static LockClient releasingTwice(LockClient right) {
    return new ForwardingClient(right) {
      private final Map<String, Queue<Lease>> permits = new ConcurrentHashMap<>();

      @Override
      protected DistributedSemaphore altered(DistributedSemaphore right) {
        Queue<Lease> leases =
            permits.computeIfAbsent(right.name(), unused -> new ConcurrentLinkedQueue<>());
        return new ForwardingSemaphore(right) {
          @Override
          Lease altered(Lease lease) {
            leases.add(lease);
            return new ReleasedTwice(lease, leases);
          }
        };
      }
    };
  }

  private static final class ReleasedTwice extends ForwardingLease {
    private final Lease lease;
    private final Queue<Lease> leases;
    private final AtomicBoolean released = new AtomicBoolean();

    ReleasedTwice(Lease lease, Queue<Lease> leases) {
      super(lease);
      this.lease = lease;
      this.leases = leases;
    }

    @Override
    public ReleaseOutcome release() {
      if (!released.getAndSet(true)) {
        leases.remove(lease);
      } else {
        Lease another = leases.poll();
        if (another != null) {
          another.release();
        }
      }
      return super.release();
    }
  }

  private static DistributedSemaphore anyNumber(DistributedSemaphore right) {
    return new ForwardingSemaphore(right) {
      @Override
      public Acquirable<Lease> permits(int permits) {
        return super.permits(Math.min(Math.max(1, permits), limit()));
      }
    };
  }

  private record Upgrading(DistributedReadWriteLock right) implements DistributedReadWriteLock {
    @Override
    public String name() {
      return right.name();
    }

    @Override
    public DistributedLock readLock() {
      return right.readLock();
    }

    @Override
    public DistributedLock writeLock() {
      return new ForwardingLock(right.writeLock()) {
        @Override
        public LeasedLock asLock() {
          return upgradingView(super.asLock());
        }
      };
    }
  }

  /** A view that lets a thread change sides if it already reads. */
  private static LeasedLock upgradingView(LeasedLock right) {
    return new ForwardingView(right) {
      @Override
      public void lock() {
        try {
          super.lock();
        } catch (IllegalStateException e) {
          // lets the thread change sides
        }
      }
    };
  }
}
