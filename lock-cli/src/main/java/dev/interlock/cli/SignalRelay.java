package dev.interlock.cli;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.IOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Routes signals: before there is a job they end the wait for the lock, afterwards they go to the
 * job.
 */
final class SignalRelay {
  private final Thread waiting = Thread.currentThread();

  @GuardedBy("this")
  private @Nullable TerminationSignal received;

  @GuardedBy("this")
  private @Nullable Job job;

  @GuardedBy("this")
  private boolean terminated;

  private SignalRelay() {}

  /** What waits for a lock, and may run a job under it. */
  interface Work {
    int run(SignalRelay signals) throws InterruptedException;
  }

  /**
   * Handles signals from now on; they interrupt the calling thread.
   *
   * @return the exit code of the work, or that of the signal that ended it
   */
  static int run(ProcessContext process, Work work) throws InterruptedException {
    SignalRelay relay = new SignalRelay();
    process.handleSignals(relay::accept);
    try {
      return work.run(relay);
    } catch (RuntimeException | InterruptedException e) {
      // A signal interrupts this thread; an interrupt may arrive here as any exception.
      Optional<TerminationSignal> signal = relay.received();
      if (signal.isPresent()) {
        return signal.get().exitCode();
      }
      throw e;
    }
  }

  private synchronized void accept(TerminationSignal signal) {
    terminated |= signal == TerminationSignal.TERM;
    if (job != null) {
      job.signal(signal);
    } else if (received == null) {
      received = signal;
      waiting.interrupt();
    }
  }

  /** {@return the signal that came before there was a job, unless it was passed on to the job} */
  synchronized Optional<TerminationSignal> received() {
    return Optional.ofNullable(received);
  }

  /**
   * {@return whether there was a SIGTERM, before or during a job} The other signals may mean
   * something else to a job, such as to read its configuration again.
   */
  synchronized boolean isTerminated() {
    return terminated;
  }

  /** Starts the job. */
  interface Starter {
    Job start() throws IOException;
  }

  /**
   * Starts the job, which gets all signals from now on. A signal during the start waits, since the
   * terminal may have sent it to the job as well.
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

  /** From now on signals interrupt the thread that installed this again. */
  synchronized void jobEnded() {
    job = null;
  }

  /** The interrupt was meant to end the wait for the lock, which has ended already. */
  @CanIgnoreReturnValue
  private static boolean clearInterrupt() {
    return Thread.interrupted();
  }
}
