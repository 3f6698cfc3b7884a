package dev.interlock.redis.server;

import dev.interlock.spi.DaemonThreads;
import java.io.IOException;
import java.nio.channels.Selector;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Sends calls over one connection without waiting for the replies, which come in the order of the
 * calls. Used by one thread at a time.
 */
abstract class Transport {

  /** Stands for a reply that has not arrived completely. */
  static final Object NOT_YET = new Object();

  /**
   * Takes over a connection with no outstanding replies.
   *
   * @param selector woken up when a reply may have arrived
   */
  static Transport over(Connection connection, Selector selector) throws IOException {
    return connection instanceof OwnConnection own && own.channel() != null
        ? new ChannelTransport(own, own.channel(), selector)
        : new StreamTransport(connection, selector);
  }

  /**
   * Buffers a call until the next {@link #flush}.
   *
   * @param withSource whether to send the script's source, for a server that does not know it
   */
  abstract void write(ScriptCall call, boolean withSource);

  /** Sends the buffered calls, or as much of them as the socket accepts now. */
  abstract void flush() throws IOException;

  /** Whether {@link #next} may return a reply. */
  abstract boolean isReady();

  /**
   * Takes the next reply.
   *
   * @return the reply; an exception if the server replied with an error; {@link #NOT_YET} if no
   *     reply has arrived
   */
  abstract Object next() throws IOException;

  abstract void close();

  /** Closes a connection at once, even if another thread uses it. */
  static void disconnect(Connection connection) {
    try {
      connection.forceDisconnect();
    } catch (IOException e) {
      throw new AssertionError("Jedis closes sockets quietly", e);
    }
  }

  /**
   * A transport over any connection of Jedis, such as one with TLS or one of the program's client.
   * A thread of its own reads the replies.
   */
  private static final class StreamTransport extends Transport {
    private final Connection connection;
    private final Selector selector;
    private final Queue<Object> replies = new ConcurrentLinkedQueue<>();
    private volatile @Nullable Throwable end;

    StreamTransport(Connection connection, Selector selector) {
      this.connection = connection;
      this.selector = selector;
      connection.setSoTimeout(0); // the pipeline knows when a reply is late
      DaemonThreads.factory("interlock-redis-reader").newThread(this::read).start();
    }

    private void read() {
      try {
        while (true) {
          replies.add(reply());
          selector.wakeup();
        }
      } catch (RuntimeException | Error e) {
        end = e;
        selector.wakeup();
      }
    }

    private Object reply() {
      try {
        Object reply = connection.getUnflushedObject();
        return reply == null ? new JedisException("the script returned nothing") : reply;
      } catch (JedisDataException e) {
        return e;
      }
    }

    @Override
    void write(ScriptCall call, boolean withSource) {
      connection.sendCommand(call.script().command(withSource, call.keys(), call.arguments()));
    }

    @Override
    void flush() {
      connection.getMany(0);
    }

    @Override
    boolean isReady() {
      return !replies.isEmpty() || end != null;
    }

    @Override
    Object next() {
      Throwable problem = end; // read before the replies: no reply follows it
      Object reply = replies.poll();
      if (reply == null && problem != null) {
        throw problem instanceof JedisConnectionException e
            ? e
            : new JedisConnectionException(problem);
      }
      return reply == null ? NOT_YET : reply;
    }

    @Override
    void close() {
      disconnect(connection);
    }
  }
}
