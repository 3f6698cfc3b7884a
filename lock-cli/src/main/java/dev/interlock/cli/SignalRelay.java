package dev.interlock.cli;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.IOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Routes signals. Until a job has started they end the wait for the lock; from then on they go to
 * the job.
 */
final class SignalRelay {
  private final Thread waiter = Thread.currentThread();

  @GuardedBy("this")
  private @Nullable TerminationSignal received;

  @GuardedBy("this")
  private @Nullable Job job;

  @GuardedBy("this")
  private boolean terminated;

  private SignalRelay() {}

  /** Waits for a lock, and may run a job under it. */
  interface Work {
    int run(SignalRelay signals) throws InterruptedException;
  }

  /**
   * Runs the work, and handles signals from now on; they interrupt the calling thread.
   *
   * @return the exit code of the work, or of the signal that ended it
   */
  static int run(ProcessContext process, Work work) throws InterruptedException {
    SignalRelay relay = new SignalRelay();
    process.handleSignals(relay::accept);
    try {
      return work.run(relay);
    } catch (RuntimeException | InterruptedException e) {
      // A signal interrupts this thread, and any exception may be the result of that.
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
      waiter.interrupt();
    }
  }

  /** {@return the signal that arrived before the job, unless it was passed on to the job} */
  synchronized Optional<TerminationSignal> received() {
    return Optional.ofNullable(received);
  }

  /**
   * {@return whether a SIGTERM has arrived, before or during a job} The other signals may mean
   * something else to a job, such as reloading its configuration.
   */
  synchronized boolean isTerminated() {
    return terminated;
  }

  interface Starter {
    Job start() throws IOException;
  }

  /**
   * Starts the job, which gets all signals from now on. A signal during the start waits until the
   * job has started, because the terminal may have sent it to the job as well.
   */
  synchronized Job start(Starter starter) throws IOException {
    Job started = starter.start();
    job = started;
    return started;
  }

  /**
   * Passes on to the job the signal that arrived before the job. Must be called by the thread that
   * called {@link #run}.
   */
  synchronized void passOnEarlySignal() {
    if (received != null && job != null) {
      clearInterrupt();
      job.send(received);
      received = null;
    }
  }

  /** Lets signals interrupt the thread that called {@link #run} again. */
  synchronized void onJobEnd() {
    job = null;
  }

  /** Clears the interrupt, which was meant to end the wait for the lock; that wait is over. */
  @CanIgnoreReturnValue
  private static boolean clearInterrupt() {
    return Thread.interrupted();
  }
}
