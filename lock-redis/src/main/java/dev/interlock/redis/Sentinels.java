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
 * Learns the primary from the sentinels, with a thread for each of them. {@link #close} ends all of
 * these threads. In Jedis itself a thread that is just starting or connecting misses the order to
 * end, and listens as long as the sentinel lives (redis/jedis#3839).
 *
 * <p>A change of the primary may be missed for good: each thread first asks and then subscribes, an
 * older reply may overwrite a newer message, and a message may be lost. So a caller whose primary
 * fails checks {@link #haveMissedChange}, and then {@linkplain #reopen reopens}.
 */
final class Sentinels extends SentineledConnectionProvider {

  private static final Logger log = LoggerFactory.getLogger(Sentinels.class);
  private static final Duration CLOSE_INTERVAL = Duration.ofMillis(5);

  private final String primaryName;
  private final JedisClientConfig primaryConfig;
  private final Set<HostAndPort> addresses;
  private final JedisClientConfig sentinelConfig;
  private final Duration maxConnecting;

  /**
   * Asks the sentinels for the primary, and begins to listen to them.
   *
   * @throws JedisException if no sentinel names it
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
    this.maxConnecting =
        Duration.ofMillis(sentinelConfig.getConnectionTimeoutMillis())
            .plusMillis(sentinelConfig.getSocketTimeoutMillis());
  }

  /**
   * Asks one sentinel for the primary.
   *
   * @return its address, or null if the sentinel knows no primary of that name
   * @throws JedisException if the sentinel does not answer, or answers with an error
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
   * Asks all sentinels whether the primary has changed. The majority of answers decides, because a
   * sentinel that was down may be behind the others. A tie counts as a change.
   */
  boolean haveMissedChange() {
    HostAndPort current = getCurrentMaster();
    int sameVotes = 0;
    int otherVotes = 0;
    for (HostAndPort sentinel : addresses) {
      try {
        HostAndPort primary = ask(sentinel, primaryName, sentinelConfig);
        if (current.equals(primary)) {
          sameVotes++;
        } else if (primary != null) {
          otherVotes++;
        }
      } catch (JedisException e) {
        log.debug("the sentinel {} does not name the primary", sentinel, e);
      }
    }
    return otherVotes > 0 && otherVotes >= sameVotes;
  }

  /**
   * Asks the same sentinels once more, and begins to listen to them. This object stays open.
   *
   * @throws JedisException if no sentinel names the primary
   */
  Sentinels reopen() {
    return new Sentinels(primaryName, primaryConfig, addresses, sentinelConfig);
  }

  /**
   * Orders the threads to end, again and again until none can have missed the order. Waits for
   * threads that are connecting, at most for the time-outs of a connection and a reply. Restores an
   * interrupt.
   */
  @Override
  public void close() {
    super.close();
    boolean interrupted = false;
    long start = System.nanoTime();
    while (sentinelListeners.stream().anyMatch(Sentinels::mayHaveMissedClose)
        && System.nanoTime() - start < maxConnecting.toNanos()) {
      try {
        Thread.sleep(CLOSE_INTERVAL.toMillis());
      } catch (InterruptedException e) {
        interrupted = true;
      }
      super.close();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Whether a thread may have missed the order. One that pauses will see it after the pause. */
  private static boolean mayHaveMissedClose(Thread listener) {
    return listener.isAlive() && listener.getState() != Thread.State.TIMED_WAITING;
  }
}
