package dev.interlock.cli;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Where signals go: as long as there is no job they end the waiting for the lock, afterwards the
 * job gets them.
 */
final class SignalRelay {
  private final Thread waiting = Thread.currentThread();

  @GuardedBy("this")
  private @Nullable TerminationSignal received;

  @GuardedBy("this")
  private @Nullable Job job;

  private SignalRelay() {}

  /** Takes charge of the signals; the calling thread is the one that is interrupted by them. */
  static SignalRelay install() {
    SignalRelay relay = new SignalRelay();
    TerminationSignal.handle(relay::accept);
    return relay;
  }

  private synchronized void accept(TerminationSignal signal) {
    if (job != null) {
      job.signal(signal);
    } else if (received == null) {
      received = signal;
      waiting.interrupt();
    }
  }

  /** The signal that came before there was a job, and was not passed on to it. */
  synchronized Optional<TerminationSignal> received() {
    return Optional.ofNullable(received);
  }

  /**
   * From now on signals are for the job, the one included that came while it was being started. To
   * be called by the thread that installed this.
   */
  synchronized void passTo(Job started) {
    job = started;
    if (received != null) {
      clearInterrupt();
      started.send(received);
      received = null;
    }
  }

  /** It was meant to end the waiting for the lock, which has ended by itself. */
  @CanIgnoreReturnValue
  private static boolean clearInterrupt() {
    return Thread.interrupted();
  }
}
