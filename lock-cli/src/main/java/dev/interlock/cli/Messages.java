package dev.interlock.cli;

import java.io.PrintWriter;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Writes lines for the user to stderr on a separate thread: a stopped terminal or an unread pipe
 * must not block a command whose lease is lost.
 */
final class Messages implements AutoCloseable {
  private static final long CLOSE_TIMEOUT_SECONDS = 5;

  private final Supplier<PrintWriter> err;
  private final ExecutorService writer =
      new ThreadPoolExecutor(
          1,
          1,
          0,
          TimeUnit.SECONDS,
          new LinkedBlockingQueue<>(),
          task -> {
            Thread thread = new Thread(task, "interlock-messages");
            thread.setDaemon(true);
            return thread;
          },
          new ThreadPoolExecutor.DiscardPolicy()); // for lines after close()

  /** Writes to a stream that is asked for with each line. */
  Messages(Supplier<PrintWriter> err) {
    this.err = err;
  }

  /** Queues a line, to be written after the earlier ones. */
  void say(String line) {
    writer.execute(() -> err.get().println("interlock: " + line));
  }

  /** Waits a limited time until all lines are written. */
  @Override
  public void close() {
    writer.shutdown();
    boolean interrupted = Thread.interrupted();
    try {
      // The result is false if nobody reads the lines.
      var unused = writer.awaitTermination(CLOSE_TIMEOUT_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      interrupted = true;
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
