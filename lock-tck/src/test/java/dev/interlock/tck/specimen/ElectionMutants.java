package dev.interlock.tck.specimen;

import dev.interlock.Election;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.Subscription;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/** Elections that elect, or tell, the wrong one. */
final class ElectionMutants {
  private ElectionMutants() {}

  static List<Specimen> all() {
    return List.of(
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
                          public Election election(String name) {
                            return super.election(name + own);
                          }
                        };
                      });
                })
            .onlyRules("all others find one of two elections", "ELECT-01")
            .refusedBy("ELECT-01", "leaders at one time")
            .build(),
        Specimen.mutant("a leader that does not learn of its loss")
            .fault("The loss of its lease does not reach the work of a leader.")
            .harness(() -> ofElection(Unaware::new))
            .refusedBy("ELECT-02", "a leader was not told of its loss")
            .build(),
        Specimen.mutant("a work that is not interrupted")
            .fault("The lease reports its loss, and the work goes on until it asks.")
            .harness(() -> ofElection(NotInterrupted::new))
            .refusedBy("ELECT-02", "the work of a lost leader went on")
            .build(),
        Specimen.mutant("a campaign beside the work")
            .fault("A candidate whose lease is lost campaigns again while its work goes on.")
            .harness(() -> ofElection(CampaignBesideWork::new))
            .refusedBy("ELECT-02", "calls of the work before it has ended")
            .build(),
        Specimen.mutant("the first leader for ever")
            .fault("An observer is told of the first leader, and of no other.")
            .harness(() -> ofElection(FirstLeader::new))
            .refusedBy("ELECT-03", "an observer was not told of the next leader")
            .build(),
        Specimen.mutant("an observer that is told of changes only")
            .fault("An observer is not told of the state at the beginning.")
            .harness(() -> ofElection(ChangesOnly::new))
            .refusedBy("ELECT-03", "an observer was not told that nobody leads")
            .build(),
        Specimen.mutant("a leader that does not resign")
            .fault("Closing a candidacy does not wait for its work, and leads for another 10 s.")
            .harness(() -> ofElection(NotResigning::new))
            .refusedBy("ELECT-04", "nobody leads after a leader has resigned")
            .refusedBy("ELECT-05", "closing did not wait for the work")
            .build(),
        Specimen.mutant("a candidate that stands once")
            .fault("When its work has ended, a candidate does not call it again.")
            .harness(() -> ofElection(StandingOnce::new))
            .onlyRules("it keeps the leadership that it does not use", "ELECT-05")
            .refusedBy("ELECT-05", "a candidate did not stand again after its work")
            .build());
  }

  private static MemoryMutant ofElection(UnaryOperator<Election> fault) {
    return MemoryMutant.ofClient(client -> new Altering(client, fault));
  }

  private static final class Altering extends ForwardingClient {
    private final UnaryOperator<Election> fault;

    Altering(LockClient right, UnaryOperator<Election> fault) {
      super(right);
      this.fault = fault;
    }

    @Override
    public Election election(String name) {
      return fault.apply(super.election(name));
    }
  }

  /** Forwards every call to another election. */
  private static class ForwardingElection implements Election {
    private final Election right;

    ForwardingElection(Election right) {
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
    public Optional<Lease> campaign(Duration timeout) throws InterruptedException {
      return right.campaign(timeout);
    }

    @Override
    public CompletableFuture<Lease> campaignAsync() {
      return right.campaignAsync();
    }

    @Override
    public Candidacy run(LeaderWork work) {
      return right.run(work);
    }

    @Override
    public Optional<Leader> leader() {
      return right.leader();
    }

    @Override
    public Subscription observe(Consumer<? super Optional<Leader>> listener) {
      return right.observe(listener);
    }
  }

  private static final class Unaware extends ForwardingElection {
    Unaware(Election right) {
      super(right);
    }

    @Override
    public Candidacy run(LeaderWork work) {
      return super.run(
          lease ->
              work.lead(
                  new ForwardingLease(lease) {
                    @Override
                    public CompletableFuture<LeaseLostException> lost() {
                      return new CompletableFuture<>();
                    }

                    @Override
                    public boolean isHeld() {
                      return true;
                    }
                  }));
    }
  }

  /** Runs the work in a thread of its own, which no loss interrupts. */
  private static final class NotInterrupted extends ForwardingElection {
    NotInterrupted(Election right) {
      super(right);
    }

    @Override
    public Candidacy run(LeaderWork work) {
      AtomicBoolean closed = new AtomicBoolean();
      Candidacy right =
          super.run(
              lease -> {
                CountDownLatch ended = new CountDownLatch(1);
                Thread thread = new Thread(() -> lead(work, lease, ended), "not-interrupted");
                thread.setDaemon(true);
                thread.start();
                while (ended.getCount() > 0) {
                  try {
                    ended.await();
                  } catch (InterruptedException e) {
                    if (closed.get()) {
                      thread.interrupt();
                    }
                  }
                }
              });
      return new ForwardingCandidacy(right) {
        @Override
        public void close() {
          closed.set(true);
          super.close();
        }
      };
    }

    private static void lead(LeaderWork work, Lease lease, CountDownLatch ended) {
      try {
        work.lead(lease);
      } catch (Exception e) {
        // ends it
      } finally {
        ended.countDown();
      }
    }
  }

  /** Lets the candidacy go on when the lease is lost, and leaves the work in its thread. */
  private static final class CampaignBesideWork extends ForwardingElection {
    CampaignBesideWork(Election right) {
      super(right);
    }

    @Override
    public Candidacy run(LeaderWork work) {
      return super.run(
          lease -> {
            CompletableFuture<?> ended = new CompletableFuture<>();
            Thread thread =
                new Thread(
                    () -> {
                      try {
                        work.lead(lease);
                      } catch (Exception e) {
                        // ends it
                      } finally {
                        ended.complete(null);
                      }
                    },
                    "beside");
            thread.setDaemon(true);
            thread.start();
            try {
              CompletableFuture.anyOf(ended, lease.lost()).get();
            } finally {
              thread.interrupt();
            }
          });
    }
  }

  private static final class FirstLeader extends ForwardingElection {
    FirstLeader(Election right) {
      super(right);
    }

    @Override
    public Subscription observe(Consumer<? super Optional<Leader>> listener) {
      AtomicBoolean told = new AtomicBoolean();
      return super.observe(
          state -> {
            if (!told.get()) {
              told.set(state.isPresent());
              listener.accept(state);
            }
          });
    }
  }

  private static final class ChangesOnly extends ForwardingElection {
    ChangesOnly(Election right) {
      super(right);
    }

    @Override
    public Subscription observe(Consumer<? super Optional<Leader>> listener) {
      AtomicBoolean begun = new AtomicBoolean();
      return super.observe(
          state -> {
            if (begun.getAndSet(true)) {
              listener.accept(state);
            }
          });
    }
  }

  private static class ForwardingCandidacy implements Election.Candidacy {
    private final Election.Candidacy right;

    ForwardingCandidacy(Election.Candidacy right) {
      this.right = right;
    }

    @Override
    public boolean isLeader() {
      return right.isLeader();
    }

    @Override
    public Optional<Throwable> problem() {
      return right.problem();
    }

    @Override
    public void close() {
      right.close();
    }
  }

  /** Keeps the leadership that the work had when its candidacy was closed. */
  private static final class NotResigning extends ForwardingElection {
    NotResigning(Election right) {
      super(right);
    }

    @Override
    public Candidacy run(LeaderWork work) {
      AtomicBoolean closed = new AtomicBoolean();
      Candidacy right =
          super.run(
              lease -> {
                try {
                  work.lead(lease);
                } finally {
                  long end = System.nanoTime() + Duration.ofSeconds(10).toNanos();
                  while (closed.get() && System.nanoTime() - end < 0) {
                    LockSupport.parkNanos(50_000_000); // stays in office
                  }
                }
              });
      return new ForwardingCandidacy(right) {
        @Override
        public void close() {
          closed.set(true);
          Thread closing = new Thread(super::close, "closing");
          closing.setDaemon(true);
          closing.start();
        }
      };
    }
  }

  private static final class StandingOnce extends ForwardingElection {
    StandingOnce(Election right) {
      super(right);
    }

    @Override
    public Candidacy run(LeaderWork work) {
      AtomicBoolean called = new AtomicBoolean();
      return super.run(
          lease -> {
            if (called.getAndSet(true)) {
              new CountDownLatch(1).await(); // until it is interrupted
            }
            work.lead(lease);
          });
    }
  }
}
