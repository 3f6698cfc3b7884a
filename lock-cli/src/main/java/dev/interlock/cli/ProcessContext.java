package dev.interlock.cli;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * The parts of the process that exist only once in a JVM: the signal handlers, the settings of the
 * log, and the standard streams that a child inherits.
 */
interface ProcessContext {

  /** The context of a command that has a JVM to itself. */
  ProcessContext OWN =
      new ProcessContext() {
        @Override
        public void handleSignals(Consumer<TerminationSignal> handler) {
          TerminationSignal.handle(handler);
        }

        @Override
        public void configureLog(boolean debug) {
          Logging.configure(debug);
        }

        @Override
        public Process start(ProcessBuilder child) throws IOException {
          return child.inheritIO().start();
        }
      };

  /** Calls the handler for each signal from now on, in place of ending the process. */
  void handleSignals(Consumer<TerminationSignal> handler);

  /** Calls the handler for the first signal. The second ends the JVM and runs shutdown hooks. */
  default void handleFirstSignal(Consumer<TerminationSignal> handler) {
    AtomicBoolean received = new AtomicBoolean();
    handleSignals(
        signal -> {
          if (received.getAndSet(true)) {
            System.exit(signal.exitCode());
          }
          handler.accept(signal);
        });
  }

  /** Configures the log, before anything is logged. */
  void configureLog(boolean debug);

  /** Starts a child with the standard streams of the command. */
  Process start(ProcessBuilder child) throws IOException;
}
