package dev.interlock.redis;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.providers.SentineledConnectionProvider;

/**
 * Learns the primary from the sentinels, with a thread for each of them. {@link #close} ends them
 * all. Jedis's own does not: a thread that is just starting or connecting misses the order to end,
 * and listens for as long as the sentinel lives (redis/jedis#3839).
 *
 * <p>It may miss a change of the primary for good: each thread first asks and then subscribes, an
 * older answer may overwrite a newer message, and a message may be lost. A caller whose primary
 * fails checks {@link #haveMissedAChange}, and starts {@linkplain #again again}.
 */
final class Sentinels extends SentineledConnectionProvider {

  private static final Logger log = LoggerFactory.getLogger(Sentinels.class);
  private static final Duration PAUSE = Duration.ofMillis(5);

  private final String primaryName;
  private final JedisClientConfig primaryConfig;
  private final Set<HostAndPort> addresses;
  private final JedisClientConfig sentinelConfig;
  private final Duration longestConnecting;

  /**
   * Asks the sentinels for the primary, and begins to listen to them.
   *
   * @throws JedisException if none of them names it
   */
  Sentinels(
      String primaryName,
      JedisClientConfig primaryConfig,
      Set<HostAndPort> sentinels,
      JedisClientConfig sentinelConfig) {
    super(primaryName, primaryConfig, sentinels, sentinelConfig);
    this.primaryName = primaryName;
    this.primaryConfig = primaryConfig;
    this.addresses = sentinels;
    this.sentinelConfig = sentinelConfig;
    this.longestConnecting =
        Duration.ofMillis(sentinelConfig.getConnectionTimeoutMillis())
            .plusMillis(sentinelConfig.getSocketTimeoutMillis());
  }

  /**
   * Asks one sentinel for the primary.
   *
   * @return its address, or null if the sentinel knows no primary of that name
   * @throws JedisException if it does not answer, or with an error
   */
  static @Nullable HostAndPort ask(
      HostAndPort sentinel, String primaryName, JedisClientConfig sentinelConfig) {
    try (Connection connection = new Connection(sentinel, sentinelConfig)) {
      connection.sendCommand(Command.SENTINEL, "GET-MASTER-ADDR-BY-NAME", primaryName);
      return connection.getOne() instanceof List<?> address
          ? new HostAndPort(Wire.text(address.get(0)), Integer.parseInt(Wire.text(address.get(1))))
          : null;
    }
  }

  /**
   * Asks all sentinels whether the primary has changed. A sentinel that was away may be behind the
   * others. On a tie it has changed.
   */
  boolean haveMissedAChange() {
    HostAndPort learnt = getCurrentMaster();
    int same = 0;
    int other = 0;
    for (HostAndPort sentinel : addresses) {
      try {
        HostAndPort primary = ask(sentinel, primaryName, sentinelConfig);
        if (learnt.equals(primary)) {
          same++;
        } else if (primary != null) {
          other++;
        }
      } catch (JedisException e) {
        log.debug("the sentinel {} does not name the primary", sentinel, e);
      }
    }
    return other > 0 && other >= same;
  }

  /**
   * Asks the same sentinels once more, and begins to listen to them. This object stays open.
   *
   * @throws JedisException if none of them names the primary
   */
  Sentinels again() {
    return new Sentinels(primaryName, primaryConfig, addresses, sentinelConfig);
  }

  /**
   * Orders the threads to end until none can have missed it. Waits for a thread that is connecting,
   * at most for the time of a connection and an answer. An interrupt is kept.
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

  /** A thread that pauses before it connects again ends after the pause. */
  private static boolean mayHaveMissedIt(Thread listener) {
    return listener.isAlive() && listener.getState() != Thread.State.TIMED_WAITING;
  }
}
