package dev.interlock.redis;

import dev.interlock.redis.server.VirtualThreads;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;

/**
 * Looks for a reply for a moment before its thread sleeps until there is one.
 *
 * <p>A server nearby answers in less time than it takes to put a thread to sleep and wake it, above
 * all if the processor goes idle in between. It then costs no more of the processor to look for the
 * reply, either. Only the one thread of this process that waits for a reply looks: several would
 * take the processors from each other and from the server.
 *
 * <p>For one connection, by one thread at a time. If looking was in vain, it is left out for the
 * next reads, up to 63 of them, so that it costs next to nothing where the server is far away.
 */
final class ReplyLookout {

  /** About what it costs to sleep and be woken. */
  static final Duration LONGEST = Duration.ofNanos(50_000);

  private static final int MOST_LEFT_OUT = 63;

  /** How many threads of this process read. */
  private static final AtomicInteger READING = new AtomicInteger();

  private final AtomicInteger reading;
  private final LongSupplier nanoTime;
  private final boolean possible;
  private int leaveOut;
  private int leftOut;

  ReplyLookout() {
    this(READING, System::nanoTime, Runtime.getRuntime().availableProcessors());
  }

  /** For tests. */
  ReplyLookout(AtomicInteger reading, LongSupplier nanoTime, int processors) {
    this.reading = reading;
    this.nanoTime = nanoTime;
    this.possible = processors > 1;
  }

  /** Reads as the stream does, and looks before that if it may be worth it. */
  int read(InputStream in, byte[] bytes, int offset, int length) throws IOException {
    int number = reading.incrementAndGet();
    try {
      // A virtual thread would look on a thread that others need.
      if (number == 1 && possible && !VirtualThreads.isCurrent()) {
        look(in);
      }
      return in.read(bytes, offset, length);
    } finally {
      reading.decrementAndGet();
    }
  }

  private void look(InputStream in) throws IOException {
    if (leftOut < leaveOut) {
      leftOut++;
      return;
    }
    leftOut = 0;
    long start = nanoTime.getAsLong();
    while (in.available() == 0) {
      if (nanoTime.getAsLong() - start >= LONGEST.toNanos()) {
        leaveOut = Math.min(MOST_LEFT_OUT, 2 * leaveOut + 1);
        return;
      }
      Thread.onSpinWait();
    }
    leaveOut = 0;
  }
}
