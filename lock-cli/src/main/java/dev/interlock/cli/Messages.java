package dev.interlock.cli;

import java.io.PrintWriter;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Writes lines for the user to stderr, on a separate thread: a stopped terminal or an unread pipe
 * must not keep a command alive whose lease is lost.
 */
final class Messages implements AutoCloseable {
  private static final long LAST_LINES_SECONDS = 5;

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

  /** Makes messages to a stream that is supplied when there is a line to write. */
  Messages(Supplier<PrintWriter> err) {
    this.err = err;
  }

  /** Writes a line soon, after those before it. */
  void say(String line) {
    writer.execute(() -> err.get().println("interlock: " + line));
  }

  /** Waits for the last lines, for a limited time. */
  @Override
  public void close() {
    writer.shutdown();
    boolean interrupted = Thread.interrupted();
    try {
      // False if the lines are not read.
      var unused = writer.awaitTermination(LAST_LINES_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      interrupted = true;
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
