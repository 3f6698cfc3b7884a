package dev.interlock.redis.server;

import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;

/**
 * Polls a socket for a reply for some microseconds before the thread sleeps until there is one.
 *
 * <p>A nearby server replies in less time than it takes to put a thread to sleep and wake it,
 * especially if the processor goes idle in between. Polling then takes more processor time of this
 * process, but less of this process and the server together. A thread polls only if no other thread
 * of this process waits for a reply: several would take the processors from each other and from the
 * server.
 *
 * <p>Belongs to one connection, and is used by one thread at a time. After a poll without a reply,
 * up to 255 reads do not poll, so polling costs almost nothing where the server is far away. The
 * server may fall asleep meanwhile, so the next poll may last twice as long. The poll after that
 * shows how soon an awake server replies.
 */
final class BusyPoll {

  /** About the time that it takes a thread to sleep and be woken. */
  private static final long MAX_NANOS = 75_000;

  /** About the time that it takes a thread and the server to sleep and be woken. */
  private static final long MAX_NANOS_AFTER_SLEEP = 2 * MAX_NANOS;

  private static final int MAX_SKIPPED = 255;

  /** The number of threads of this process that read. */
  private static final AtomicInteger READING = new AtomicInteger();

  private final AtomicInteger reading;
  private final LongSupplier nanoTime;
  private final boolean possible;

  /** The number of reads that skip the poll after the next poll without a reply. */
  private int readsToSkipNext;

  /** The number of reads that still skip the poll. */
  private int readsToSkip;

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

  /** Reads from the stream, after polling if that is likely to pay. */
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
    if (readsToSkip > 0) {
      readsToSkip--;
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
        readsToSkipNext = Math.min(MAX_SKIPPED, 2 * readsToSkipNext + 1);
        readsToSkip = readsToSkipNext;
        return;
      }
      Thread.onSpinWait();
    }
    // Bytes that were there at once may be the rest of a reply, as with TLS.
    if (0 < took && took < MAX_NANOS) {
      readsToSkipNext = 0;
    }
  }
}
