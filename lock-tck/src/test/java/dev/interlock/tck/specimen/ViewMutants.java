package dev.interlock.tck.specimen;

import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LeasedLock;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Views that violate {@link LeasedLock}. */
final class ViewMutants {
  private ViewMutants() {}

  static List<Specimen> all() {
    return MemorySpecimens.of(
        Specimen.mutant("view that is not reentrant")
            .fault("Every call of a view acquires a lease.")
            .harness(() -> MemoryMutant.ofLock(ViewMutants::notReentrant))
            .refusedBy("JUC-01", "a nested tryLock through another view failed")
            .refusedBy("JUC-04", "LeaseLostException"),
        Specimen.mutant("view that anybody unlocks")
            .fault("Unlocking a lock that the thread does not hold throws nothing.")
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
            .refusedBy("JUC-04", "IllegalMonitorStateException"),
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
            .refusedBy("JUC-03", "the interrupt was swallowed"),
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
            .refusedBy("JUC-03", "an interrupted call took the lock"),
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
            .refusedBy("JUC-04", "LeaseLostException"),
        Specimen.mutant("view that keeps a lease for everybody")
            .fault("A view shows the lease of its last holder to every thread.")
            .harness(() -> ofView(ViewMutants::sharedLease))
            .refusedBy("JUC-05", "a thread that does not hold the lock has a lease of it"),
        Specimen.mutant("view that forgets a lost lease")
            .fault("A view shows a lease only while it is held.")
            .harness(
                () ->
                    ofView(
                        view ->
                            new ForwardingView(view) {
                              @Override
                              public Optional<Lease> lease() {
                                return super.lease().filter(Lease::isHeld);
                              }
                            }))
            .refusedBy("JUC-05", "the holder has no lease from which to learn of a loss"));
  }

  private static MemoryMutant ofView(UnaryOperator<LeasedLock> fault) {
    return MemoryMutant.ofLock(
        lock ->
            new ForwardingLock(lock) {
              @Override
              public LeasedLock asLock() {
                return fault.apply(super.asLock());
              }
            });
  }

  private static LeasedLock sharedLease(LeasedLock right) {
    return new ForwardingView(right) {
      private volatile Optional<Lease> last = Optional.empty();

      @Override
      public Optional<Lease> lease() {
        Optional<Lease> own = super.lease();
        if (own.isPresent()) {
          last = own;
        }
        return last;
      }

      @Override
      public void unlock() {
        super.unlock();
        last = super.lease();
      }
    };
  }

  private static DistributedLock notReentrant(DistributedLock right) {
    return new ForwardingLock(right) {
      @Override
      public LeasedLock asLock() {
        DistributedLock lock = this;
        return new ForwardingView(super.asLock()) {
          private @Nullable Lease nested;

          @Override
          public boolean tryLock() {
            Optional<Lease> acquired = lock.tryAcquire();
            nested = acquired.orElse(null);
            return acquired.isPresent();
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
    };
  }
}
