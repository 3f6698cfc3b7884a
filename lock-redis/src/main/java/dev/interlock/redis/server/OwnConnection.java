package dev.interlock.redis.server;

import dev.interlock.spi.Deadline;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;

/** A connection that no Jedis client of the program has made. */
public final class OwnConnection extends Connection {

  private final LimitedSockets sockets;

  private OwnConnection(LimitedSockets sockets, JedisClientConfig config) {
    super(sockets, config);
    this.sockets = sockets;
    sockets.liftLimit();
    setSoTimeout(config.getSocketTimeoutMillis());
  }

  /**
   * Connects and logs in. The thread that waits for a reply polls for it.
   *
   * @param server where to
   * @param config how
   * @param limit until when; null if there is no limit but that of each step
   * @return the connection
   */
  public static OwnConnection to(
      HostAndPort server, JedisClientConfig config, @Nullable Deadline limit) {
    return new OwnConnection(new LimitedSockets(server, config, limit, false), config);
  }

  /**
   * Connects and logs in, for a {@link Pipelines pipeline}.
   *
   * @param server where to
   * @param config how
   * @param limit until when; null if there is no limit but that of each step
   * @return the connection
   */
  public static OwnConnection forPipeline(
      HostAndPort server, JedisClientConfig config, @Nullable Deadline limit) {
    return new OwnConnection(new LimitedSockets(server, config, limit, true), config);
  }

  /** Returns what one thread can wait for together with others, or null if there is none. */
  @Nullable SocketChannel channel() {
    return sockets.channel();
  }
}
