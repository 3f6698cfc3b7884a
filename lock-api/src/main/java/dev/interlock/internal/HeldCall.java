package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockEvent;
import dev.interlock.Registration;
import java.lang.ref.Reference;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A call of the program while a lease is held. A loss of the lease interrupts the calling thread
 * until the work has ended, and never after that.
 */
final class HeldCall implements Consumer<LockEvent>, AutoCloseable {

  private final Thread caller = Thread.currentThread();

  @GuardedBy("this")
  private boolean ended;

  @GuardedBy("this")
  private boolean interrupted;

  private HeldCall() {}

  /** See {@link Lease#callWhileHeld}. */
  static <T> T run(Lease lease, Callable<T> work) throws Exception {
    lease.ensureHeld();
    HeldCall call = new HeldCall();
    Registration registration = lease.onEvent(call);
    T result;
    // Closes the call, and then the registration, before the loss is checked.
    try (registration;
        call) {
      result = work.call();
    } catch (Exception e) {
      throwIfLost(lease, e);
      throw e;
    } finally {
      // A lease that nothing refers to would no longer be renewed.
      Reference.reachabilityFence(lease);
    }
    throwIfLost(lease, null);
    return result;
  }

  private static void throwIfLost(Lease lease, @Nullable Exception failure) {
    try {
      lease.ensureHeld();
    } catch (LeaseLostException loss) {
      if (failure instanceof LeaseLostException) {
        return;
      }
      if (failure != null) {
        loss.addSuppressed(failure);
      }
      throw loss;
    } catch (IllegalStateException e) {
      // The program has released the lease, which is not a loss.
      return;
    }
  }

  @Override
  public synchronized void accept(LockEvent event) {
    // An interrupt status that somebody else has set must stay.
    if (event instanceof LockEvent.Lost && !ended && !caller.isInterrupted()) {
      interrupted = true;
      caller.interrupt();
    }
  }

  /** Called by the calling thread. Takes the monitor, so that no interrupt comes after it. */
  @Override
  public synchronized void close() {
    ended = true;
    if (interrupted) {
      boolean ignored = Thread.interrupted();
    }
  }
}
