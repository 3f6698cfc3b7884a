package dev.interlock.tck.specimen;

import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockEvent;
import dev.interlock.LockKind;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.Registration;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/** Leases that report or act incorrectly. */
final class LeaseMutants {
  private LeaseMutants() {}

  static List<Specimen> all() {
    return MemorySpecimens.of(
        Specimen.mutant("second close frees the successor")
            .fault("A repeated release deletes the lock, even if another client holds it.")
            .harness(() -> MemoryMutant.ofClient(SecondReleaseForces::new))
            .refusedBy("EXCL-03", "the successor's lease was lost"),
        Specimen.mutant("lease bound to its thread")
            .fault("Only the thread that waited for a lease can renew it.")
            .harness(
                () ->
                    MemoryMutant.ofLock(
                        lock ->
                            new ForwardingLock(lock) {
                              @Override
                              public Lease acquire() throws InterruptedException {
                                return ofOneThread(super.acquire());
                              }
                            }))
            .refusedBy("EXCL-07", "acquired by another thread"),
        Specimen.mutant("maximum hold time ignored")
            .fault("Renewal never ends.")
            .harness(
                () ->
                    new MemoryMutantWithOptions(
                        options -> options.toBuilder().maxHold(null).build()))
            .refusedBy("LEASE-06", "the maximum hold time did not end the lease"),
        Specimen.mutant("minimum hold ignored")
            .fault("A release always frees the lock.")
            .harness(() -> MemoryMutant.ofClient(LeaseMutants::minimumHoldIgnored))
            .refusedBy("LEASE-11", "an early release was not deferred"),
        Specimen.mutant("thread per lease")
            .fault("Every lease starts a thread.")
            .harness(ThreadPerLease::new)
            .refusedBy("LEASE-08", "more threads than one lease"),
        Specimen.mutant("renewal on the JVM's timer")
            .fault("Renewals run on the thread that times out the futures of the whole JVM.")
            .harness(RenewalOnTheJvmsTimer::new)
            .refusedBy("LEASE-08", "all renewed leases were lost"),
        Specimen.mutant("expired lease remembered")
            .fault("The client keeps every lease until it is released, even an expired one.")
            .harness(ExpiredLeaseRemembered::new)
            .exceptRules(
                "the number of kept objects varies with the leases that a rule lets expire",
                "LEASE-08")
            .refusedBy("REL-06", "have left objects in the client"),
        Specimen.mutant("abandoned lease kept")
            .fault("The client refers to its leases, so an abandoned one is renewed forever.")
            .harness(AbandonedLeaseKept::new)
            .exceptRules("the kept objects and their listener threads vary", "REL-04", "LEASE-08")
            .refusedBy("LEASE-09", "the loss of an abandoned lease"),
        Specimen.mutant("sleep not noticed")
            .fault("The client reads only the monotonic clock.")
            .harness(() -> new MemoryMutantWithoutWallClock(client -> client))
            .refusedBy("LEASE-10", "held although the machine slept"),
        Specimen.mutant("loss never signalled")
            .fault("The loss of a lease is never reported.")
            .harness(() -> MemoryMutant.ofLease(LeaseMutants::neverSignalled))
            .refusedBy("LOSS-01", "the end of a lease without renewal was not reported")
            .refusedBy("LOSS-04", "the loss of a lease was not reported")
            .refusedBy("LEASE-06", "the maximum hold time did not end the lease")
            .refusedBy("LEASE-10", "the loss was not reported")
            .refusedBy("LEASE-02", "not all were reported within a renewal interval"),
        Specimen.mutant("loss signalled twice")
            .fault("Two sources report a loss, 300 ms apart.")
            .harness(() -> MemoryMutant.ofLease(LeaseMutants::signalledTwice))
            .refusedBy("LOSS-01", "the loss was reported"),
        Specimen.mutant("loss signalled on release")
            .fault("Every end of a lease is reported as its loss, even a release.")
            .harness(() -> MemoryMutant.ofLease(SignalledOnRelease::new))
            .refusedBy("LOSS-03", "a release was reported as")
            .refusedBy("LEASE-05", "something followed the release"),
        Specimen.mutant("one thread for all listeners")
            .fault("The listeners of all leases are called one after the other.")
            .harness(() -> MemoryMutant.ofClient(LeaseMutants::oneThreadForListeners))
            .refusedBy("LOSS-04", "because another one has bad listeners"),
        Specimen.mutant("close throws for a lost lease")
            .fault("Closing a lease that was lost throws.")
            .harness(
                () ->
                    MemoryMutant.ofLease(
                        lease ->
                            new ForwardingLease(lease) {
                              @Override
                              public void close() {
                                if (release() == ReleaseOutcome.ALREADY_LOST) {
                                  throw new IllegalStateException("lost before it was closed");
                                }
                              }
                            }))
            .refusedBy("REL-01", "lost before it was closed")
            .refusedBy("EXCL-03", "lost before it was closed")
            .refusedBy("LOSS-01", "lost before it was closed"),
        Specimen.mutant("release that forgets what it did")
            .fault("A repeated release reports that the lease was lost.")
            .harness(
                () ->
                    MemoryMutant.ofLease(
                        lease ->
                            new ForwardingLease(lease) {
                              private final AtomicBoolean released = new AtomicBoolean();

                              @Override
                              public ReleaseOutcome release() {
                                return released.getAndSet(true)
                                    ? ReleaseOutcome.ALREADY_LOST
                                    : super.release();
                              }
                            }))
            .refusedBy("REL-01", "release number"),
        Specimen.mutant("handoff called a release")
            .fault("A handoff without a request to the store is reported as a release.")
            .harness(
                () ->
                    MemoryMutant.ofLease(
                        lease ->
                            new ForwardingLease(lease) {
                              @Override
                              public ReleaseOutcome release() {
                                ReleaseOutcome outcome = super.release();
                                return outcome == ReleaseOutcome.HANDED_OFF
                                    ? ReleaseOutcome.RELEASED
                                    : outcome;
                              }
                            }))
            .refusedBy("REL-01", "a release without a request to the store returned"));
  }

  private static final class SecondReleaseForces extends ForwardingClient {
    SecondReleaseForces(LockClient right) {
      super(right);
    }

    @Override
    protected DistributedLock altered(DistributedLock lock) {
      return new ForwardingLock(lock) {
        @Override
        protected Lease altered(Lease lease) {
          return new Repeating(lease);
        }
      };
    }

    private final class Repeating extends ForwardingLease {
      private final AtomicBoolean released = new AtomicBoolean();

      Repeating(Lease right) {
        super(right);
      }

      @Override
      public ReleaseOutcome release() {
        ReleaseOutcome outcome = super.release();
        if (released.getAndSet(true)) {
          admin().forceRelease(name());
        }
        return outcome;
      }

      @Override
      public void close() {
        release();
      }
    }
  }

  private static Lease ofOneThread(Lease right) {
    return new ForwardingLease(right) {
      private final Thread owner = Thread.currentThread();

      @Override
      public void renew() throws InterruptedException {
        if (Thread.currentThread() != owner) {
          throw new IllegalMonitorStateException("acquired by another thread");
        }
        super.renew();
      }
    };
  }

  /** Changes the options of clients. */
  private static final class MemoryMutantWithOptions extends MemoryMutant {
    private final UnaryOperator<LockOptions> alteration;

    MemoryMutantWithOptions(UnaryOperator<LockOptions> alteration) {
      super(right -> right, client -> client);
      this.alteration = alteration;
    }

    @Override
    public LockClient open(String uri, LockOptions options, TimeSource time) {
      return super.open(uri, alteration.apply(options), time);
    }
  }

  private static final class MemoryMutantWithoutWallClock extends MemoryMutant {
    MemoryMutantWithoutWallClock(UnaryOperator<LockClient> unchanged) {
      super(right -> right, unchanged);
    }

    @Override
    public LockClient open(String uri, LockOptions options, TimeSource time) {
      return super.open(
          uri,
          options,
          new TimeSource() {
            @Override
            public long nanoTime() {
              return time.nanoTime();
            }

            @Override
            public long wallMillis() {
              return TimeUnit.NANOSECONDS.toMillis(time.nanoTime());
            }

            @Override
            public void parkUntil(Object blocker, long untilNanos) {
              time.parkUntil(blocker, untilNanos);
            }
          });
    }
  }

  static final class ThreadPerLease extends MemoryMutant {
    ThreadPerLease() {
      super(Starting::new, UnaryOperator.identity());
    }

    private static final class Starting extends AlteredClaims {
      private final Map<String, CompletableFuture<Void>> ends = new ConcurrentHashMap<>();

      Starting(QueueingBackend right) {
        super(right);
      }

      @Override
      Grant received(Grant grant) {
        CompletableFuture<Void> end = new CompletableFuture<>();
        ends.put(grant.claim().id(), end);
        Thread thread = new Thread(end::join, "lease");
        thread.setDaemon(true);
        thread.start();
        return grant;
      }

      @Override
      public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
        CompletableFuture<Void> end = ends.remove(claim.id());
        if (end != null) {
          end.complete(null);
        }
        return super.release(claim, deadline);
      }
    }
  }

  static final class RenewalOnTheJvmsTimer extends MemoryMutant {
    RenewalOnTheJvmsTimer() {
      super(Renewing::new, UnaryOperator.identity());
    }

    private static final class Renewing extends ForwardingQueue {

      Renewing(QueueingBackend right) {
        super(right);
      }

      @Override
      public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
        CompletableFuture<Renewal> renewal = new CompletableFuture<>();
        CompletableFuture.delayedExecutor(1, TimeUnit.MILLISECONDS, Runnable::run)
            .execute(() -> renewal.complete(renewNow(grant, deadline)));
        try {
          return renewal.get(deadline.remaining().toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException | TimeoutException e) {
          return new Renewal.Failed(
              new LockUnavailableException("memory", endpoint(), "no answer in time", e));
        }
      }

      private Renewal renewNow(Grant grant, Deadline deadline) {
        try {
          return super.renew(grant, deadline);
        } catch (InterruptedException e) {
          throw new IllegalStateException(e);
        }
      }
    }
  }

  static final class ExpiredLeaseRemembered extends MemoryMutant {
    ExpiredLeaseRemembered() {
      super(Noting::new, UnaryOperator.identity());
    }

    private static final class Noting extends AlteredClaims {
      private final Map<String, Grant> given = new ConcurrentHashMap<>();

      Noting(QueueingBackend right) {
        super(right);
      }

      @Override
      Grant received(Grant grant) {
        given.put(grant.claim().id(), grant);
        return grant;
      }

      @Override
      public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
        given.remove(claim.id());
        return super.release(claim, deadline);
      }
    }
  }

  static final class AbandonedLeaseKept extends MemoryMutant {
    AbandonedLeaseKept() {
      super(right -> right, Keeping::new);
    }

    private static final class Keeping extends ForwardingClient {
      private final Set<Lease> kept = ConcurrentHashMap.newKeySet();

      Keeping(LockClient right) {
        super(right);
      }

      @Override
      protected DistributedLock altered(DistributedLock lock) {
        return new ForwardingLock(lock) {
          @Override
          protected Lease altered(Lease lease) {
            kept.add(lease);
            lease.onEvent(
                event -> {
                  if (event instanceof LockEvent.Released) {
                    kept.remove(lease);
                  }
                });
            return lease;
          }
        };
      }
    }
  }

  private static Lease neverSignalled(Lease right) {
    return new ForwardingLease(right) {
      @Override
      public CompletableFuture<LeaseLostException> onLoss() {
        return new CompletableFuture<>();
      }

      @Override
      public Registration onEvent(Consumer<? super LockEvent> listener) {
        return super.onEvent(
            event -> {
              if (!(event instanceof LockEvent.Lost)) {
                listener.accept(event);
              }
            });
      }
    };
  }

  private static Lease signalledTwice(Lease right) {
    return new ForwardingLease(right) {
      @Override
      public Registration onEvent(Consumer<? super LockEvent> listener) {
        Executor later = CompletableFuture.delayedExecutor(300, TimeUnit.MILLISECONDS);
        return super.onEvent(
            event -> {
              listener.accept(event);
              if (event instanceof LockEvent.Lost) {
                later.execute(() -> listener.accept(event));
              }
            });
      }
    };
  }

  private static final class SignalledOnRelease extends ForwardingLease {
    private final CompletableFuture<LeaseLostException> lost = new CompletableFuture<>();

    SignalledOnRelease(Lease right) {
      super(right);
      var unused = right.onLoss().thenAccept(lost::complete);
    }

    @Override
    public CompletableFuture<LeaseLostException> onLoss() {
      return lost;
    }

    @Override
    public ReleaseOutcome release() {
      ReleaseOutcome outcome = super.release();
      lost.complete(ended());
      return outcome;
    }

    @Override
    public void close() {
      release();
    }

    @Override
    public Registration onEvent(Consumer<? super LockEvent> listener) {
      return super.onEvent(
          event -> {
            listener.accept(event);
            if (event instanceof LockEvent.Released released) {
              listener.accept(new LossOf(released, ended()));
            }
          });
    }

    private LeaseLostException ended() {
      return new LeaseLostException(name(), LossReason.EXPIRED, "it has ended", null);
    }
  }

  /** A loss derived from another event. */
  private record LossOf(LockEvent event, LeaseLostException loss) implements LockEvent.Lost {
    @Override
    public String name() {
      return event.name();
    }

    @Override
    public LockKind kind() {
      return event.kind();
    }

    @Override
    public OptionalLong fencingToken() {
      return event.fencingToken();
    }

    @Override
    public long acquisition() {
      return event.acquisition();
    }

    @Override
    public Instant time() {
      return event.time();
    }

    @Override
    public String label() {
      return event.label();
    }

    @Override
    public Duration heldFor() {
      return Duration.ZERO;
    }
  }

  private static LockClient oneThreadForListeners(LockClient right) {
    return new ForwardingClient(right) {
      private final Executor thread =
          Executors.newSingleThreadExecutor(
              work -> {
                Thread worker = new Thread(work, "listeners");
                worker.setDaemon(true);
                return worker;
              });

      @Override
      protected DistributedLock altered(DistributedLock lock) {
        return new ForwardingLock(lock) {
          @Override
          protected Lease altered(Lease lease) {
            return new ForwardingLease(lease) {
              @Override
              public Registration onEvent(Consumer<? super LockEvent> listener) {
                return super.onEvent(event -> thread.execute(() -> listener.accept(event)));
              }

              @Override
              public CompletableFuture<LeaseLostException> onLoss() {
                return super.onLoss().thenApplyAsync(loss -> loss, thread);
              }
            };
          }
        };
      }
    };
  }

  private static LockClient minimumHoldIgnored(LockClient right) {
    return new ForwardingClient(right) {
      @Override
      public DistributedLock lock(String name) {
        return lock(name, options -> {});
      }

      @Override
      public DistributedLock lock(String name, Consumer<? super LockOptions.Builder> change) {
        return super.lock(
            name,
            options -> {
              change.accept(options);
              options.minHold(null);
            });
      }
    };
  }
}
