package dev.interlock.tck.specimen;

import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LockAdmin;
import dev.interlock.LockClient;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.LockStates;
import dev.interlock.tck.Server;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/** Locks and clients that wait, answer or end in the wrong way. */
final class LockMutants {
  private LockMutants() {}

  static List<Specimen> all() {
    return MemorySpecimens.of(
        Specimen.mutant("reentrant by thread")
            .fault("The thread that holds a lock can acquire it again.")
            .harness(() -> MemoryMutant.ofLock(LockMutants::reentrantByThread))
            .refusedBy("EXCL-06", "was reentrant"),
        Specimen.mutant("attempt that waits")
            .fault("A client's first tryAcquire() on a held lock waits for 40 s.")
            .harness(
                () ->
                    MemoryMutant.ofClient(
                        client ->
                            new ForwardingClient(client) {
                              private final AtomicBoolean waited = new AtomicBoolean();

                              @Override
                              protected DistributedLock altered(DistributedLock lock) {
                                return firstAttemptWaits(lock, waited);
                              }
                            }))
            .exceptRules(
                "a waiter whose time is over may still be granted the lock for a moment", "API-03")
            .refusedBy("WAIT-01", "did not return while the lock was held")
            .refusedBy("LEASE-09", "the view did not hold the lock"),
        Specimen.mutant("timeout ignored")
            .fault("A timed attempt with less than a second to go waits for 40 s.")
            .harness(
                () ->
                    MemoryMutant.ofLock(
                        lock ->
                            new ForwardingLock(lock) {
                              @Override
                              public Optional<Lease> tryAcquire(Duration timeout)
                                  throws InterruptedException {
                                return super.tryAcquire(
                                    isPatient(timeout) ? Duration.ofSeconds(40) : timeout);
                              }
                            }))
            .refusedBy("WAIT-02", "later than"),
        Specimen.mutant("gives up early")
            .fault("A timed attempt with less than a second to go waits for half its time.")
            .harness(
                () ->
                    MemoryMutant.ofLock(
                        lock ->
                            new ForwardingLock(lock) {
                              @Override
                              public Optional<Lease> tryAcquire(Duration timeout)
                                  throws InterruptedException {
                                return super.tryAcquire(
                                    isPatient(timeout) ? timeout.dividedBy(2) : timeout);
                              }
                            }))
            .refusedBy("WAIT-02", "earlier than"),
        Specimen.mutant("interrupt swallowed")
            .fault("An interrupted wait continues.")
            .harness(() -> MemoryMutant.ofLock(LockMutants::interruptSwallowed))
            .refusedBy("WAIT-07", "the interrupted waiter did not leave")
            .refusedBy("REL-03", "an interrupted thread did not return")
            .refusedBy("FAIR-01", "was not served")
            .refusedBy("FAIR-02", "was not served"),
        Specimen.mutant("line of sixteen")
            .fault("Only sixteen waiters of one client and name are served.")
            .harness(
                () ->
                    MemoryMutant.ofClient(
                        client ->
                            new ForwardingClient(client) {
                              private final Map<String, AtomicInteger> waiting =
                                  new ConcurrentHashMap<>();

                              @Override
                              protected DistributedLock altered(DistributedLock lock) {
                                return sixteen(
                                    lock,
                                    waiting.computeIfAbsent(
                                        lock.name(), name -> new AtomicInteger()));
                              }
                            }))
            .refusedBy("WAIT-09", "waiters were not served")
            .refusedBy("FENCE-01", "a waiter was not served"),
        Specimen.mutant("contention as a failure")
            .fault("An attempt on a held lock throws, as if the store were dead.")
            .harness(
                () ->
                    MemoryMutant.ofClient(
                        client ->
                            new ForwardingClient(client) {
                              @Override
                              protected DistributedLock altered(DistributedLock lock) {
                                return new ForwardingLock(lock) {
                                  @Override
                                  public Optional<Lease> tryAcquire(Duration timeout)
                                      throws InterruptedException {
                                    Optional<Lease> acquired = super.tryAcquire(timeout);
                                    if (acquired.isEmpty()) {
                                      throw new LockUnavailableException(
                                          backend().name(), endpoint(), "it is held", null);
                                    }
                                    return acquired;
                                  }
                                };
                              }
                            }))
            .refusedBy("EXCL-06", "it is held")
            .refusedBy("WAIT-02", "it is held")
            .refusedBy("LEASE-02", "it is held")
            .refusedBy("API-02", "it is held"),
        Specimen.mutant("long names cut")
            .fault("Names that are too long are cut.")
            .harness(
                () ->
                    MemoryMutant.ofClient(
                        client ->
                            new ForwardingClient(client) {
                              @Override
                              public DistributedLock lock(String name) {
                                return super.lock(
                                    name != null && name.codePointCount(0, name.length()) > 255
                                        ? name.substring(0, name.offsetByCodePoints(0, 255))
                                        : name);
                              }
                            }))
            .refusedBy("API-01", "IllegalArgumentException"),
        Specimen.mutant("inspection from memory")
            .fault("A client sees only the locks that it holds itself.")
            .harness(() -> MemoryMutant.ofClient(LockMutants::inspectionFromMemory))
            .refusedBy("ADMIN-01", "not held while a lease was")
            .refusedBy("API-03", "not seen")
            .refusedBy("FAIR-01", "a waiter is not shown in the queue")
            .refusedBy("FAIR-02", "a waiter is not shown in the queue"),
        Specimen.mutant("close that leaves everything behind")
            .fault("Closing a client ends neither its leases nor its waits.")
            .harness(() -> new ClosesNothing(new ConcurrentLinkedQueue<>()))
            .refusedBy("REL-05", "expected: <java.lang.IllegalStateException>")
            .refusedBy("FAIR-01", "was not served")
            .refusedBy("FAIR-02", "was not served"),
        Specimen.mutant("every name remembered")
            .fault("The client keeps an object for every name that was ever used.")
            .harness(EveryNameRemembered::new)
            .refusedBy("REL-04", "bytes of heap"));
  }

  /** A short time that is not an invalid argument. */
  private static boolean isPatient(Duration timeout) {
    return timeout != null
        && timeout.compareTo(Duration.ofMillis(2)) > 0
        && timeout.compareTo(Duration.ofSeconds(1)) < 0;
  }

  private static DistributedLock firstAttemptWaits(DistributedLock right, AtomicBoolean waited) {
    return new ForwardingLock(right) {
      @Override
      public Optional<Lease> tryAcquire() {
        Optional<Lease> acquired = super.tryAcquire();
        if (acquired.isPresent() || waited.getAndSet(true)) {
          return acquired;
        }
        try {
          return tryAcquire(Duration.ofSeconds(40));
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          return Optional.empty();
        }
      }
    };
  }

  @SuppressWarnings("ThreadLocalUsage")
  private static DistributedLock reentrantByThread(DistributedLock right) {
    return new ForwardingLock(right) {
      private final Map<Thread, Lease> held = new ConcurrentHashMap<>();

      @Override
      protected Lease altered(Lease lease) {
        held.put(Thread.currentThread(), lease);
        return lease;
      }

      @Override
      public Lease acquire() throws InterruptedException {
        Lease mine = held.get(Thread.currentThread());
        return mine != null && mine.isHeld() ? mine : super.acquire();
      }
    };
  }

  private static DistributedLock interruptSwallowed(DistributedLock right) {
    return new ForwardingLock(right) {
      @Override
      public Lease acquire() throws InterruptedException {
        // not forever, so that the kit's threads end
        for (int i = 0; i < 2; i++) {
          try {
            return super.acquire();
          } catch (InterruptedException e) {
            // the wait continues
          }
        }
        return super.acquire();
      }
    };
  }

  private static DistributedLock sixteen(DistributedLock right, AtomicInteger waiting) {
    return new ForwardingLock(right) {
      @Override
      public CompletableFuture<Lease> acquireAsync() {
        if (waiting.incrementAndGet() > 16) {
          waiting.decrementAndGet();
          return new CompletableFuture<>();
        }
        CompletableFuture<Lease> future = super.acquireAsync();
        var unused = future.whenComplete((lease, failure) -> waiting.decrementAndGet());
        return future;
      }
    };
  }

  private static LockClient inspectionFromMemory(LockClient right) {
    return new ForwardingClient(right) {
      private final Map<String, Lease> held = new ConcurrentHashMap<>();

      @Override
      protected DistributedLock altered(DistributedLock lock) {
        return new ForwardingLock(lock) {
          @Override
          protected Lease altered(Lease lease) {
            held.put(lease.name(), lease);
            return lease;
          }
        };
      }

      @Override
      public LockAdmin admin() {
        LockAdmin right = super.admin();
        return new LockAdmin() {
          @Override
          public LockState inspect(String name) {
            LockState state = right.inspect(name);
            Lease own = held.get(name);
            return own != null && own.isHeld() ? state : LockStates.free(name);
          }

          @Override
          public Stream<LockState> list(String prefix) {
            return right.list(prefix);
          }

          @Override
          public boolean forceRelease(String name) {
            return right.forceRelease(name);
          }

          @Override
          public boolean revoke(String name) {
            return right.revoke(name);
          }
        };
      }
    };
  }

  private static final class ClosesNothing extends MemoryMutant {
    private final Queue<LockClient> open;

    private ClosesNothing(Queue<LockClient> open) {
      super(
          right -> right,
          client -> {
            open.add(client);
            return new ForwardingClient(client) {
              @Override
              public void close() {}
            };
          });
      this.open = open;
    }

    /** Closes everything when the run is over. */
    @Override
    public Server start() {
      Server server = super.start();
      return new Server() {
        @Override
        public String uri() {
          return server.uri();
        }

        @Override
        public void close() {
          open.forEach(LockClient::close);
        }
      };
    }
  }

  static final class EveryNameRemembered extends MemoryMutant {
    EveryNameRemembered() {
      super(right -> right, Remembering::new);
    }

    private static final class Remembering extends ForwardingClient {
      private final Map<String, byte[]> names = new ConcurrentHashMap<>();

      Remembering(LockClient right) {
        super(right);
      }

      @Override
      public DistributedLock lock(String name) {
        names.computeIfAbsent(name, unused -> new byte[500]);
        return super.lock(name);
      }
    }
  }
}
