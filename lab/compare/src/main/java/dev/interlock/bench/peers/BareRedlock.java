package dev.interlock.bench.peers;

import dev.interlock.compare.RedlockDriver;
import dev.interlock.compare.rounds.Locking;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The algorithm of Redlock's description on the bare calls, and no more: request all nodes; without
 * a majority release them and retry after a random pause.
 *
 * @param nodes the servers
 * @param shortest the shortest pause, in milliseconds
 * @param longest the longest, exclusive
 */
record BareRedlock(RedlockDriver.Nodes nodes, long shortest, long longest) implements Locking {

  /** With pauses about as long as an attempt, for short waits. */
  static Peer<Locking> prompt() {
    return contender("bare Redlock, pauses below 3 ms", 0, 3);
  }

  /** With the default pauses of libraries for Redlock. */
  static Peer<Locking> patient() {
    return contender("bare Redlock, pauses of 100 to 300 ms", 100, 300);
  }

  private static Peer<Locking> contender(String name, long shortest, long longest) {
    return new Peer<>(
        name,
        (uri, threads) ->
            new BareRedlock(new RedlockDriver().open(uri, threads), shortest, longest));
  }

  @Override
  public Optional<AutoCloseable> acquire(String name, Duration atMost) throws Exception {
    String owner = UUID.randomUUID().toString();
    long end = System.nanoTime() + atMost.toNanos();
    while (true) {
      if (nodes.tryAcquire(name, owner) > nodes.size() / 2) {
        return Optional.of(() -> nodes.release(name, owner));
      }
      nodes.release(name, owner);
      long left = (end - System.nanoTime()) / 1_000_000;
      if (left <= 0) {
        return Optional.empty();
      }
      ThreadLocalRandom random = ThreadLocalRandom.current();
      Thread.sleep(Math.min(left, random.nextLong(shortest, longest)));
    }
  }

  @Override
  public void close() {
    nodes.close();
  }
}
