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
 * Learns the master from the sentinels, by a thread for each of them. Closing it ends them all,
 * which Jedis's own does not: a thread that is just starting or connecting misses that it is told
 * to end, and listens for as long as the sentinel lives (redis/jedis#3839).
 *
 * <p>It may miss that the master has changed, and never hear of it again: each thread first asks
 * and then subscribes, what was asked before may be believed after what was heard, and a message
 * may be lost on the way. Whoever finds the master to be none can ask {@link #haveMissedAChange},
 * and begin {@linkplain #again anew}.
 */
final class Sentinels extends SentineledConnectionProvider {

  private static final Logger log = LoggerFactory.getLogger(Sentinels.class);
  private static final Duration PAUSE = Duration.ofMillis(5);

  private final String masterName;
  private final JedisClientConfig masterConfig;
  private final Set<HostAndPort> addresses;
  private final JedisClientConfig sentinelConfig;
  private final Duration longestConnecting;

  /**
   * Asks the sentinels for the master, and begins to listen to them.
   *
   * @throws JedisException if none of them tells it
   */
  Sentinels(
      String masterName,
      JedisClientConfig masterConfig,
      Set<HostAndPort> sentinels,
      JedisClientConfig sentinelConfig) {
    super(masterName, masterConfig, sentinels, sentinelConfig);
    this.masterName = masterName;
    this.masterConfig = masterConfig;
    this.addresses = sentinels;
    this.sentinelConfig = sentinelConfig;
    this.longestConnecting =
        Duration.ofMillis(sentinelConfig.getConnectionTimeoutMillis())
            .plusMillis(sentinelConfig.getSocketTimeoutMillis());
  }

  /**
   * Asks one sentinel for the master.
   *
   * @return its address; null if the sentinel knows no master of that name
   * @throws JedisException if it does not answer, or with an error
   */
  static @Nullable HostAndPort ask(
      HostAndPort sentinel, String masterName, JedisClientConfig sentinelConfig) {
    try (Connection connection = new Connection(sentinel, sentinelConfig)) {
      connection.sendCommand(Command.SENTINEL, "GET-MASTER-ADDR-BY-NAME", masterName);
      return connection.getOne() instanceof List<?> address
          ? new HostAndPort(Wire.text(address.get(0)), Integer.parseInt(Wire.text(address.get(1))))
          : null;
    }
  }

  /**
   * Asks all sentinels whether the master is still the one that was learnt from them. A sentinel
   * that was away may be behind the others; of two opinions that as many have, it is the other one.
   */
  boolean haveMissedAChange() {
    HostAndPort learnt = getCurrentMaster();
    int same = 0;
    int other = 0;
    for (HostAndPort sentinel : addresses) {
      try {
        HostAndPort master = ask(sentinel, masterName, sentinelConfig);
        if (learnt.equals(master)) {
          same++;
        } else if (master != null) {
          other++;
        }
      } catch (JedisException e) {
        log.debug("the sentinel {} does not tell the master", sentinel, e);
      }
    }
    return other > 0 && other >= same;
  }

  /**
   * Asks the same sentinels once more, and begins to listen to them; this one is not closed.
   *
   * @throws JedisException if none of them tells the master
   */
  Sentinels again() {
    return new Sentinels(masterName, masterConfig, addresses, sentinelConfig);
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
