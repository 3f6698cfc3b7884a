package dev.interlock.compare;

import dev.interlock.compare.baseline.OneThreadRedlock;
import dev.interlock.compare.baseline.RedlockDriver;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;

/**
 * The algorithm of the Redlock description, on the bare calls: it asks all nodes; without a
 * majority it releases them all and retries after a random pause.
 */
final class BareRedlock {
  private static final Duration MAX_SHORT_PAUSE = Duration.ofMillis(3);

  private BareRedlock() {}

  /** {@return Redlock with pauses about as long as an attempt, for short waits} */
  static Competitor<Locking> withShortPauses() {
    return new Competitor<>(
        "bare Redlock, pauses below 3 ms",
        (uri, threads) ->
            on(new RedlockDriver().open(uri, threads), Duration.ZERO, MAX_SHORT_PAUSE));
  }

  /** {@return Redlock with the default pauses of Redlock libraries} */
  static Competitor<Locking> withLongPauses() {
    return new Competitor<>(
        "bare Redlock, pauses of 100 to 300 ms",
        (uri, threads) ->
            on(
                new RedlockDriver().open(uri, threads),
                Duration.ofMillis(100),
                Duration.ofMillis(300)));
  }

  /** {@return the cheapest possible Redlock, for one thread at a time} */
  static Competitor<Locking> onOneThread() {
    return new Competitor<>(
        "one thread, five sockets",
        (uri, threads) -> on(new OneThreadRedlock(uri), Duration.ZERO, MAX_SHORT_PAUSE));
  }

  private static Locking on(RedlockDriver.Nodes nodes, Duration minPause, Duration maxPause) {
    return Locking.of(
        nodes,
        (name, atMost) -> {
          String owner = UUID.randomUUID().toString();
          long end = System.nanoTime() + atMost.toNanos();
          while (nodes.tryAcquire(name, owner) <= nodes.size() / 2) {
            nodes.release(name, owner);
            long remaining = end - System.nanoTime();
            if (remaining <= 0) {
              return Optional.empty();
            }
            long pause =
                ThreadLocalRandom.current().nextLong(minPause.toNanos(), maxPause.toNanos());
            LockSupport.parkNanos(Math.min(remaining, pause));
            if (Thread.interrupted()) {
              throw new InterruptedException();
            }
          }
          return Optional.of(() -> nodes.release(name, owner));
        });
  }
}
