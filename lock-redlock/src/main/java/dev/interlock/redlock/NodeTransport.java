package dev.interlock.redlock;

import dev.interlock.redlock.NodePipeline.Call;
import java.io.IOException;
import redis.clients.jedis.Connection;

/**
 * Sends calls over one connection to a node, for one thread at a time. Replies come in the order of
 * the calls. Failures are Jedis's own exceptions.
 */
abstract class NodeTransport {

  /**
   * Takes a call, and sends it at the next {@link #read} at the latest.
   *
   * @param withSource whether to send the script's source, for a server that does not know it
   */
  abstract void write(Call call, boolean withSource);

  /**
   * Sends what was written, and waits for the next reply.
   *
   * @return the reply; an exception if the server answered with an error
   */
  abstract Object read(int timeoutMillis);

  abstract void close();

  /** Returns the transport over a connection that has been introduced. */
  static NodeTransport over(Connection connection) {
    return connection instanceof ChannelConnection own
        ? new ChannelTransport(own)
        : new JedisTransport(connection);
  }

  /** Over any connection of Jedis, such as one with TLS, or of a client of the program. */
  private static final class JedisTransport extends NodeTransport {
    private final Connection connection;

    JedisTransport(Connection connection) {
      this.connection = connection;
    }

    @Override
    void write(Call call, boolean withSource) {
      connection.sendCommand(call.script().command(withSource, call.keys(), call.arguments()));
    }

    @Override
    Object read(int timeoutMillis) {
      connection.setSoTimeout(timeoutMillis);
      return connection.getMany(1).get(0);
    }

    @Override
    void close() {
      disconnect(connection);
    }
  }

  /** Closes it at once, whoever uses it. */
  static void disconnect(Connection connection) {
    try {
      connection.forceDisconnect();
    } catch (IOException e) {
      throw new AssertionError("Jedis closes sockets quietly", e);
    }
  }
}
