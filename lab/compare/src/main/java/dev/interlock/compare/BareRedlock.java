package dev.interlock.compare;

import dev.interlock.compare.baseline.OneThreadRedlock;
import dev.interlock.compare.baseline.RedlockDriver;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;

/**
 * The algorithm of Redlock's description on the bare calls, and no more: request all nodes; without
 * a majority release them and retry after a random pause.
 */
final class BareRedlock {
  private static final Duration PROMPT = Duration.ofMillis(3);

  private BareRedlock() {}

  /** With pauses about as long as an attempt, for short waits. */
  static Competitor<Locking> prompt() {
    return new Competitor<>(
        "bare Redlock, pauses below 3 ms",
        (uri, threads) -> on(new RedlockDriver().open(uri, threads), Duration.ZERO, PROMPT));
  }

  /** With the default pauses of libraries for Redlock. */
  static Competitor<Locking> patient() {
    return new Competitor<>(
        "bare Redlock, pauses of 100 to 300 ms",
        (uri, threads) ->
            on(
                new RedlockDriver().open(uri, threads),
                Duration.ofMillis(100),
                Duration.ofMillis(300)));
  }

  /** The least that it costs, for one thread at a time. */
  static Competitor<Locking> onOneThread() {
    return new Competitor<>(
        "one thread, five sockets",
        (uri, threads) -> on(new OneThreadRedlock(uri), Duration.ZERO, PROMPT));
  }

  private static Locking on(RedlockDriver.Nodes nodes, Duration shortest, Duration longest) {
    return Locking.of(
        nodes,
        (name, atMost) -> {
          String owner = UUID.randomUUID().toString();
          long end = System.nanoTime() + atMost.toNanos();
          while (nodes.tryAcquire(name, owner) <= nodes.size() / 2) {
            nodes.release(name, owner);
            long left = end - System.nanoTime();
            if (left <= 0) {
              return Optional.empty();
            }
            long pause =
                ThreadLocalRandom.current().nextLong(shortest.toNanos(), longest.toNanos());
            LockSupport.parkNanos(Math.min(left, pause));
            if (Thread.interrupted()) {
              throw new InterruptedException();
            }
          }
          return Optional.of(() -> nodes.release(name, owner));
        });
  }
}
