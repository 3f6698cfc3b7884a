package dev.interlock.cli;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.IOException;
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

  /** Starts the job. */
  interface Starter {
    Job start() throws IOException;
  }

  /**
   * Starts the job; from now on signals are for it. One that comes while it is being started waits,
   * since the terminal may have sent it to the job as well.
   */
  synchronized Job start(Starter starter) throws IOException {
    Job started = starter.start();
    job = started;
    return started;
  }

  /**
   * Passes on to the job the signal that came before there was one. To be called by the thread that
   * installed this.
   */
  synchronized void passOn() {
    if (received != null && job != null) {
      clearInterrupt();
      job.send(received);
      received = null;
    }
  }

  /** It was meant to end the waiting for the lock, which has ended by itself. */
  @CanIgnoreReturnValue
  private static boolean clearInterrupt() {
    return Thread.interrupted();
  }
}
