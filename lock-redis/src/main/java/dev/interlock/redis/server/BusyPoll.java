package dev.interlock.redis.server;

import java.io.IOException;
import java.io.InputStream;
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
 * to 255 of them, so it costs next to nothing where the server is far away. The server may sleep
 * meanwhile, so the next poll may take twice as long; the one after it shows how soon an awake
 * server answers.
 */
final class BusyPoll {

  /** About what it takes to sleep and be woken. */
  private static final long MAX_NANOS = 75_000;

  /** The same, if the server has to be woken, too. */
  private static final long MAX_NANOS_AFTER_SLEEP = 2 * MAX_NANOS;

  private static final int MAX_SKIPPED = 255;

  /** How many threads of this process read. */
  private static final AtomicInteger READING = new AtomicInteger();

  private final AtomicInteger reading;
  private final LongSupplier nanoTime;
  private final boolean possible;

  /** How many reads skip the poll after one in vain; 0 once a reply came soon. */
  private int backoff;

  /** How many of these are left. */
  private int toSkip;

  /** Whether the last read skipped its poll, so that the server may sleep. */
  private boolean mayBeAsleep;

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
    if (toSkip > 0) {
      toSkip--;
      mayBeAsleep = true;
      return;
    }
    long max = mayBeAsleep ? MAX_NANOS_AFTER_SLEEP : MAX_NANOS;
    mayBeAsleep = false;
    long start = nanoTime.getAsLong();
    long took = 0;
    while (in.available() == 0) {
      took = nanoTime.getAsLong() - start;
      if (took >= max) {
        backoff = Math.min(MAX_SKIPPED, 2 * backoff + 1);
        toSkip = backoff;
        return;
      }
      Thread.onSpinWait();
    }
    // What was there at once may be the rest of a reply, as with TLS.
    if (0 < took && took < MAX_NANOS) {
      backoff = 0;
    }
  }
}
