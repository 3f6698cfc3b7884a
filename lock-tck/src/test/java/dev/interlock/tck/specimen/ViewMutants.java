package dev.interlock.tck.specimen;

import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Views that violate {@link Lock}. */
final class ViewMutants {
  private ViewMutants() {}

  static List<Specimen> all() {
    return List.of(
        Specimen.mutant("view that is not reentrant")
            .fault("A view acquires a lease with every call.")
            .harness(() -> ofLock(lock -> new NotReentrant(lock)))
            .refusedBy("JUC-01", "a nested tryLock through another view failed")
            .refusedBy("JUC-04", "LeaseLostException")
            .build(),
        Specimen.mutant("view that anybody unlocks")
            .fault("Unlocking a lock that the thread does not hold does not throw.")
            .harness(
                () ->
                    ofView(
                        view ->
                            new ForwardingView(view) {
                              @Override
                              public void unlock() {
                                try {
                                  super.unlock();
                                } catch (IllegalMonitorStateException e) {
                                  // ignored
                                }
                              }
                            }))
            .refusedBy("JUC-01", "IllegalMonitorStateException")
            .refusedBy("JUC-02", "IllegalMonitorStateException")
            .refusedBy("JUC-04", "IllegalMonitorStateException")
            .build(),
        Specimen.mutant("view that swallows interrupts")
            .fault("lock() clears the interrupt status.")
            .harness(
                () ->
                    ofView(
                        view ->
                            new ForwardingView(view) {
                              @Override
                              public void lock() {
                                super.lock();
                                boolean unused = Thread.interrupted();
                              }
                            }))
            .refusedBy("JUC-03", "the interrupt was swallowed")
            .build(),
        Specimen.mutant("view that is interrupted too late")
            .fault("lockInterruptibly() of an interrupted thread takes the lock, and then throws.")
            .harness(
                () ->
                    ofView(
                        view ->
                            new ForwardingView(view) {
                              @Override
                              public void lockInterruptibly() throws InterruptedException {
                                boolean interrupted = Thread.interrupted();
                                super.lockInterruptibly();
                                if (interrupted) {
                                  throw new InterruptedException();
                                }
                              }
                            }))
            .refusedBy("JUC-03", "an interrupted call took the lock")
            .build(),
        Specimen.mutant("view that hides a loss")
            .fault("Unlocking a lost lock does not throw.")
            .harness(
                () ->
                    ofView(
                        view ->
                            new ForwardingView(view) {
                              @Override
                              public void unlock() {
                                try {
                                  super.unlock();
                                } catch (LeaseLostException e) {
                                  // hidden
                                }
                              }
                            }))
            .refusedBy("JUC-04", "LeaseLostException")
            .build());
  }

  private static MemoryMutant ofLock(UnaryOperator<DistributedLock> fault) {
    return MemoryMutant.ofLock(fault);
  }

  private static MemoryMutant ofView(UnaryOperator<Lock> fault) {
    return ofLock(
        lock ->
            new ForwardingLock(lock) {
              @Override
              public Lock asLock() {
                return fault.apply(super.asLock());
              }
            });
  }

  private abstract static class ForwardingView implements Lock {
    private final Lock right;

    ForwardingView(Lock right) {
      this.right = right;
    }

    @Override
    public void lock() {
      right.lock();
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
      right.lockInterruptibly();
    }

    @Override
    public boolean tryLock() {
      return right.tryLock();
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
      return right.tryLock(time, unit);
    }

    @Override
    public void unlock() {
      right.unlock();
    }

    @Override
    public Condition newCondition() {
      return right.newCondition();
    }
  }

  private static final class NotReentrant extends ForwardingLock {
    NotReentrant(DistributedLock right) {
      super(right);
    }

    @Override
    public Lock asLock() {
      DistributedLock lock = this;
      return new ForwardingView(super.asLock()) {
        private @Nullable Lease nested;

        @Override
        public boolean tryLock() {
          Optional<Lease> had = lock.tryAcquire();
          nested = had.orElse(null);
          return had.isPresent();
        }

        @Override
        public void unlock() {
          if (nested != null) {
            nested.release();
            nested = null;
          } else {
            super.unlock();
          }
        }
      };
    }
  }
}
