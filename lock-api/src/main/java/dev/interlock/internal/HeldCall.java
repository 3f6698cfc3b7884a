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

/** Interrupts its thread when the lease is lost, until the work has ended, and never after that. */
final class HeldCall implements Consumer<LockEvent>, AutoCloseable {

  private final Thread caller = Thread.currentThread();

  @GuardedBy("this")
  private boolean over;

  @GuardedBy("this")
  private boolean interrupted;

  private HeldCall() {}

  /** See {@link Lease#callWhileHeld}. */
  static <T> T run(Lease lease, Callable<T> work) throws Exception {
    lease.ensureHeld();
    HeldCall call = new HeldCall();
    Registration registration = lease.onEvent(call);
    T result;
    // Closed before the loss is looked at; the call first.
    try (registration;
        call) {
      result = work.call();
    } catch (Exception e) {
      throwIfLost(lease, e);
      throw e;
    } finally {
      // A lease that nothing refers to would not be renewed.
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
      // The program has released it, which is no loss.
      return;
    }
  }

  @Override
  public synchronized void accept(LockEvent event) {
    // A status that was set elsewhere is not ours to clear.
    if (event instanceof LockEvent.Lost && !over && !caller.isInterrupted()) {
      interrupted = true;
      caller.interrupt();
    }
  }

  /** Called by the caller. Under the monitor, so that no interrupt comes after it. */
  @Override
  public synchronized void close() {
    over = true;
    if (interrupted) {
      boolean ignored = Thread.interrupted();
    }
  }
}
