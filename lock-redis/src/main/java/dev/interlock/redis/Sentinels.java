package dev.interlock.redis;

import java.time.Duration;
import java.util.Set;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.providers.SentineledConnectionProvider;

/**
 * Learns the master from the sentinels, by a thread for each of them. Closing it ends them all,
 * which Jedis's own does not: a thread that is just starting or connecting misses that it is told
 * to end, and listens for as long as the sentinel lives (redis/jedis#3839).
 */
final class Sentinels extends SentineledConnectionProvider {

  private static final Duration PAUSE = Duration.ofMillis(5);

  private final Duration longestConnecting;

  /**
   * Asks the sentinels for the master, and begins to listen to them.
   *
   * @throws redis.clients.jedis.exceptions.JedisException if none of them tells it
   */
  Sentinels(
      String masterName,
      JedisClientConfig masterConfig,
      Set<HostAndPort> sentinels,
      JedisClientConfig sentinelConfig) {
    super(masterName, masterConfig, sentinels, sentinelConfig);
    this.longestConnecting =
        Duration.ofMillis(sentinelConfig.getConnectionTimeoutMillis())
            .plusMillis(sentinelConfig.getSocketTimeoutMillis());
  }

  /**
   * Tells the threads until each has heard it. Waits for one that is connecting at most as long as
   * that and one answer may take; an interrupt is kept.
   */
  @Override
  public void close() {
    super.close();
    boolean interrupted = false;
    long start = System.nanoTime();
    while (sentinelListeners.stream().anyMatch(Sentinels::mayHaveMissedIt)
        && System.nanoTime() - start < longestConnecting.toNanos()) {
      try {
        Thread.sleep(PAUSE.toMillis());
      } catch (InterruptedException e) {
        interrupted = true;
      }
      super.close();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** One that rests before it connects again ends when it has rested. */
  private static boolean mayHaveMissedIt(Thread listener) {
    return listener.isAlive() && listener.getState() != Thread.State.TIMED_WAITING;
  }
}
