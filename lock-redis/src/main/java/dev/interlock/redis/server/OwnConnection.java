package dev.interlock.redis.server;

import dev.interlock.spi.Deadline;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;

/** A connection that Interlock makes itself, rather than borrow it from a client of the program. */
public final class OwnConnection extends Connection {

  private final LimitedSockets sockets;

  private OwnConnection(LimitedSockets sockets, JedisClientConfig config) {
    super(sockets, config);
    this.sockets = sockets;
    sockets.liftLimit();
    setSoTimeout(config.getSocketTimeoutMillis());
  }

  /**
   * Connects and logs in. A thread that waits for a reply polls the socket first.
   *
   * @param server the address
   * @param config the settings of the connection
   * @param limit the deadline; null to limit only each step
   * @return the connection
   */
  public static OwnConnection to(
      HostAndPort server, JedisClientConfig config, @Nullable Deadline limit) {
    return new OwnConnection(new LimitedSockets(server, config, limit, false), config);
  }

  /**
   * Connects and logs in, for a {@link Pipelines pipeline}.
   *
   * @param server the address
   * @param config the settings of the connection
   * @param limit the deadline; null to limit only each step
   * @return the connection
   */
  public static OwnConnection forPipeline(
      HostAndPort server, JedisClientConfig config, @Nullable Deadline limit) {
    return new OwnConnection(new LimitedSockets(server, config, limit, true), config);
  }

  /** Returns the channel, for a selector; null if the connection has none. */
  @Nullable SocketChannel channel() {
    return sockets.channel();
  }
}
