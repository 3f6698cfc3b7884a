package dev.interlock.redis;

import dev.interlock.redis.server.VirtualThreads;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;

/**
 * Polls for a reply for a moment before its thread sleeps until there is one.
 *
 * <p>A server nearby answers in less time than it takes to put a thread to sleep and wake it, above
 * all if the processor goes idle in between. Polling then takes more of this process's processor
 * time, but less of this process's and the server's together. Only a thread that is alone in this
 * process in waiting for a reply polls: several would take the processors from each other and from
 * the server.
 *
 * <p>For one connection, by one thread at a time. After polling in vain, the next reads skip it, up
 * to 63 of them, so it costs next to nothing where the server is far away.
 */
final class BusyPoll {

  /** About what it takes to sleep and be woken. */
  static final Duration MAX_TIME = Duration.ofNanos(50_000);

  private static final int MAX_SKIPPED = 63;

  /** How many threads of this process read. */
  private static final AtomicInteger READING = new AtomicInteger();

  private final AtomicInteger reading;
  private final LongSupplier nanoTime;
  private final boolean possible;
  private int toSkip;
  private int skipped;

  BusyPoll() {
    this(READING, System::nanoTime, Runtime.getRuntime().availableProcessors());
  }

  /** For tests. */
  BusyPoll(AtomicInteger reading, LongSupplier nanoTime, int processors) {
    this.reading = reading;
    this.nanoTime = nanoTime;
    this.possible = processors > 1;
  }

  /** Reads as the stream does, after polling if that may be worth it. */
  int read(InputStream in, byte[] bytes, int offset, int length) throws IOException {
    int readers = reading.incrementAndGet();
    try {
      // A virtual thread would keep its carrier from others.
      if (readers == 1 && possible && !VirtualThreads.isCurrent()) {
        poll(in);
      }
      return in.read(bytes, offset, length);
    } finally {
      reading.decrementAndGet();
    }
  }

  private void poll(InputStream in) throws IOException {
    if (skipped < toSkip) {
      skipped++;
      return;
    }
    skipped = 0;
    long start = nanoTime.getAsLong();
    while (in.available() == 0) {
      if (nanoTime.getAsLong() - start >= MAX_TIME.toNanos()) {
        toSkip = Math.min(MAX_SKIPPED, 2 * toSkip + 1);
        return;
      }
      Thread.onSpinWait();
    }
    toSkip = 0;
  }
}
