package dev.interlock.tck.specimen;

import dev.interlock.LeaderElection;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockOptions;
import dev.interlock.Registration;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Elections that elect, or report, the wrong leader. */
final class ElectionMutants {
  private ElectionMutants() {}

  static List<Specimen> all() {
    return MemorySpecimens.of(
        Specimen.mutant("two leaders")
            .fault("Half of the clients hold an election of their own.")
            .harness(
                () -> {
                  AtomicInteger clients = new AtomicInteger();
                  return MemoryMutant.ofClient(
                      client -> {
                        String own = clients.getAndIncrement() % 2 == 0 ? "" : ":own";
                        return new ForwardingClient(client) {
                          @Override
                          public LeaderElection election(String name) {
                            return super.election(name + own);
                          }

                          @Override
                          public LeaderElection election(
                              String name, Consumer<? super LockOptions.Builder> change) {
                            return super.election(name + own, change);
                          }
                        };
                      });
                })
            .onlyRules("other rules see only one of the two elections", "ELECT-01")
            .refusedBy("ELECT-01", "leaders at one time"),
        Specimen.mutant("a leader that does not learn of its loss")
            .fault("The work of a leader does not learn that the lease is lost.")
            .harness(() -> ofElection(ElectionMutants::unaware))
            .refusedBy("ELECT-02", "a leader's loss was not signalled"),
        Specimen.mutant("work that is not interrupted")
            .fault("The lease reports its loss, but the work continues until it checks the lease.")
            .harness(() -> ofElection(ElectionMutants::notInterrupted))
            .refusedBy("ELECT-02", "the work of a lost leader went on"),
        Specimen.mutant("a campaign beside the work")
            .fault("A candidate whose lease is lost campaigns again while its work continues.")
            .harness(() -> ofElection(ElectionMutants::campaignBesideWork))
            .refusedBy("ELECT-02", "calls of the work before it has ended"),
        Specimen.mutant("the first leader forever")
            .fault("An observer is called for the first leader only.")
            .harness(() -> ofElection(ElectionMutants::firstLeader))
            .refusedBy("ELECT-03", "an observer was not called with the next leader"),
        Specimen.mutant("an observer called only on changes")
            .fault("An observer is not called with the state at the beginning.")
            .harness(() -> ofElection(ElectionMutants::changesOnly))
            .refusedBy("ELECT-03", "an observer was not called with no leader"),
        Specimen.mutant("a leader that does not resign")
            .fault(
                "Closing a candidacy does not wait for its work, and keeps the leadership for another 10 s.")
            .harness(() -> ofElection(ElectionMutants::notResigning))
            .refusedBy("ELECT-04", "nobody leads after a leader has resigned")
            .refusedBy("ELECT-05", "closing did not wait for the work"),
        Specimen.mutant("a candidate that stands once")
            .fault("When its work has ended, a candidate does not call it again.")
            .harness(() -> ofElection(ElectionMutants::standingOnce))
            .onlyRules("it keeps a leadership that it does not use", "ELECT-05")
            .refusedBy("ELECT-05", "a candidate did not stand again after its work"));
  }

  private static MemoryMutant ofElection(
      BiFunction<LeaderElection, TimeSource, LeaderElection> fault) {
    return MemoryMutant.ofClient(
        (client, time) ->
            new ForwardingClient(client) {
              @Override
              protected LeaderElection altered(LeaderElection right) {
                return fault.apply(right, time);
              }
            });
  }

  /** Forwards every call to another election. */
  private static class ForwardingElection implements LeaderElection {
    private final LeaderElection right;

    ForwardingElection(LeaderElection right) {
      this.right = right;
    }

    @Override
    public String name() {
      return right.name();
    }

    @Override
    public Lease campaign() throws InterruptedException {
      return right.campaign();
    }

    @Override
    public Optional<Lease> tryCampaign(Duration timeout) throws InterruptedException {
      return right.tryCampaign(timeout);
    }

    @Override
    public CompletableFuture<Lease> campaignAsync() {
      return right.campaignAsync();
    }

    @Override
    public Candidacy start(LeaderWork work) {
      return right.start(work);
    }

    @Override
    public Optional<Leader> leader() {
      return right.leader();
    }

    @Override
    public Registration observe(Consumer<? super Optional<Leader>> listener) {
      return right.observe(listener);
    }
  }

  private static LeaderElection unaware(LeaderElection right, TimeSource unused) {
    return new ForwardingElection(right) {
      @Override
      public Candidacy start(LeaderWork work) {
        return super.start(
            lease ->
                work.lead(
                    new ForwardingLease(lease) {
                      @Override
                      public CompletableFuture<LeaseLostException> onLoss() {
                        return new CompletableFuture<>();
                      }

                      @Override
                      public boolean isHeld() {
                        return true;
                      }
                    }));
      }
    };
  }

  /** A call of the work on another thread of the client, which no loss interrupts. */
  private static final class CallElsewhere {
    private final TimeSource time;
    private final WakeUp signal;
    private @Nullable Thread worker;
    private boolean ended;

    CallElsewhere(TimeSource time, LeaderElection.LeaderWork work, Lease lease) {
      this.time = time;
      this.signal = new WakeUp(time);
      var unused = lease.renewAsync().whenComplete((renewed, failure) -> call(work, lease));
    }

    private void call(LeaderElection.LeaderWork work, Lease lease) {
      work(Thread.currentThread());
      try {
        work.lead(lease);
      } catch (Exception e) {
        // ends the wait
      } finally {
        work(null);
        signal.signal();
      }
    }

    private synchronized void work(@Nullable Thread thread) {
      worker = thread;
      ended = thread == null;
    }

    synchronized boolean isHere() {
      return worker == Thread.currentThread();
    }

    synchronized boolean hasEnded() {
      return ended;
    }

    /** Waits for the end of the work, or for another signal. */
    void await() throws InterruptedException {
      boolean unused = signal.await(Deadline.never(time));
    }

    synchronized void interrupt() {
      if (worker != null) {
        worker.interrupt();
      }
    }
  }

  private static LeaderElection notInterrupted(LeaderElection right, TimeSource time) {
    return new ForwardingElection(right) {
      @Override
      public Candidacy start(LeaderWork work) {
        AtomicReference<@Nullable CallElsewhere> latest = new AtomicReference<>();
        AtomicReference<@Nullable Candidacy> closed = new AtomicReference<>();
        Candidacy right =
            super.start(
                lease -> {
                  CallElsewhere call = new CallElsewhere(time, work, lease);
                  latest.set(call);
                  while (!call.hasEnded()) {
                    try {
                      call.await();
                    } catch (InterruptedException e) {
                      if (closed.get() != null) {
                        call.interrupt();
                      }
                    }
                  }
                  Candidacy candidacy = closed.get();
                  if (candidacy != null) {
                    candidacy.close();
                  }
                });
        return new ForwardingCandidacy(right) {
          @Override
          public void close() {
            closed.set(right);
            CallElsewhere call = latest.get();
            if (call == null || !call.isHere()) {
              super.close();
            }
          }
        };
      }
    };
  }

  /** Continues the candidacy when the lease is lost, and leaves the work running. */
  private static LeaderElection campaignBesideWork(LeaderElection right, TimeSource time) {
    return new ForwardingElection(right) {
      @Override
      public Candidacy start(LeaderWork work) {
        return super.start(
            lease -> {
              CallElsewhere call = new CallElsewhere(time, work, lease);
              var unused = lease.onLoss().thenRun(call.signal::signal);
              try {
                call.await();
              } finally {
                call.interrupt();
              }
            });
      }
    };
  }

  private static LeaderElection firstLeader(LeaderElection right, TimeSource unused) {
    return new ForwardingElection(right) {
      @Override
      public Registration observe(Consumer<? super Optional<Leader>> listener) {
        AtomicBoolean hasLeader = new AtomicBoolean();
        return super.observe(
            state -> {
              if (!hasLeader.get()) {
                hasLeader.set(state.isPresent());
                listener.accept(state);
              }
            });
      }
    };
  }

  private static LeaderElection changesOnly(LeaderElection right, TimeSource unused) {
    return new ForwardingElection(right) {
      @Override
      public Registration observe(Consumer<? super Optional<Leader>> listener) {
        AtomicBoolean begun = new AtomicBoolean();
        return super.observe(
            state -> {
              if (begun.getAndSet(true)) {
                listener.accept(state);
              }
            });
      }
    };
  }

  private static class ForwardingCandidacy implements LeaderElection.Candidacy {
    private final LeaderElection.Candidacy right;

    ForwardingCandidacy(LeaderElection.Candidacy right) {
      this.right = right;
    }

    @Override
    public boolean isLeader() {
      return right.isLeader();
    }

    @Override
    public Optional<Throwable> failure() {
      return right.failure();
    }

    @Override
    public void close() {
      right.close();
    }
  }

  /** Keeps the leadership that the work had when its candidacy was closed. */
  private static LeaderElection notResigning(LeaderElection right, TimeSource time) {
    return new ForwardingElection(right) {
      @Override
      public Candidacy start(LeaderWork work) {
        AtomicReference<@Nullable Thread> worker = new AtomicReference<>();
        AtomicReference<@Nullable Candidacy> closed = new AtomicReference<>();
        Candidacy right =
            super.start(
                lease -> {
                  worker.set(Thread.currentThread());
                  try {
                    work.lead(lease);
                  } finally {
                    worker.set(null);
                    Candidacy candidacy = closed.get();
                    if (candidacy != null) {
                      boolean ignored = Thread.interrupted();
                      candidacy.close();
                      Deadline end = Deadline.in(time, Duration.ofSeconds(10));
                      boolean unused = new WakeUp(time).await(end); // stays in office
                    }
                  }
                });
        return new ForwardingCandidacy(right) {
          @Override
          public void close() {
            closed.set(right);
            Thread leader = worker.get();
            if (leader == null) {
              right.close();
            } else {
              leader.interrupt();
            }
          }
        };
      }
    };
  }

  private static LeaderElection standingOnce(LeaderElection right, TimeSource time) {
    return new ForwardingElection(right) {
      @Override
      public Candidacy start(LeaderWork work) {
        AtomicBoolean called = new AtomicBoolean();
        return super.start(
            lease -> {
              if (called.getAndSet(true)) {
                // until it is interrupted
                boolean unused = new WakeUp(time).await(Deadline.never(time));
              }
              work.lead(lease);
            });
      }
    };
  }
}
