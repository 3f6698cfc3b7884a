package dev.interlock.redis.server;

import java.io.IOException;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.JedisPubSub;

/**
 * One connection in subscribing mode. {@link #listen()} occupies a thread for as long as the
 * connection lasts; all other methods are called by one other thread.
 */
final class Subscription extends JedisPubSub {

  /** Called on the listening thread. */
  interface Listener {
    /** The connection is in subscribing mode. */
    void ready(Subscription subscription);

    /** Messages on the channel are received from now on. */
    void confirmed(Subscription subscription, String channel);

    /**
     * A release was published.
     *
     * @param waiter the id of the client for which the lock is reserved; empty if there is none
     */
    void published(Subscription subscription, String channel, String waiter);
  }

  private final Connection connection;
  private final String idleChannel;
  private final int silenceMillis;
  private final Listener listener;
  private final Set<String> subscribed = new HashSet<>();
  private volatile boolean ready;
  private volatile boolean closed;

  /**
   * Wraps a connection.
   *
   * @param idleChannel a channel that stays subscribed, because a connection without channels
   *     leaves the subscribing mode
   * @param silenceMillis the time without a message after which the connection counts as broken
   */
  Subscription(Connection connection, String idleChannel, int silenceMillis, Listener listener) {
    this.connection = connection;
    this.idleChannel = idleChannel;
    this.silenceMillis = silenceMillis;
    this.listener = listener;
  }

  /** Listens until the connection is closed, or throws when it breaks. */
  void listen() {
    try {
      proceed(connection, idleChannel);
    } catch (RuntimeException e) {
      if (!closed) {
        throw e;
      }
    } finally {
      close();
    }
  }

  boolean isReady() {
    return ready;
  }

  /** Subscribes to the given channels, and unsubscribes from all others. */
  void update(Collection<String> wanted) {
    Set<String> added = new HashSet<>(wanted);
    added.removeAll(subscribed);
    Set<String> removed = new HashSet<>(subscribed);
    removed.removeAll(wanted);
    subscribed.addAll(added);
    subscribed.removeAll(removed);
    if (!removed.isEmpty()) {
      send(() -> unsubscribe(removed.toArray(String[]::new)));
    }
    if (!added.isEmpty()) {
      send(() -> subscribe(added.toArray(String[]::new)));
    }
  }

  /**
   * Makes the server reply. PING would not do: if its reply comes before Jedis has recorded the
   * request, Jedis takes the reply for an unknown message.
   */
  void probe() {
    send(() -> subscribe(idleChannel));
  }

  private void send(Runnable command) {
    if (closed) {
      return;
    }
    try {
      command.run();
    } finally {
      if (closed) {
        // This subscription was closed meanwhile, and Jedis may have reconnected to send the
        // command.
        close();
      }
    }
  }

  @Override
  public void onSubscribe(String channel, int subscribedChannels) {
    if (closed) {
      // This subscription was closed before it began to listen, and Jedis has reconnected.
      close();
    } else if (!channel.equals(idleChannel)) {
      listener.confirmed(this, channel);
    } else if (!ready) {
      ready = true;
      // Jedis has no time-out here, and would never notice a connection that died silently.
      connection.setSoTimeout(silenceMillis);
      listener.ready(this);
    }
  }

  @Override
  public void onMessage(String channel, @Nullable String message) {
    listener.published(this, channel, message == null ? "" : message);
  }

  void close() {
    closed = true;
    try {
      connection.forceDisconnect();
    } catch (IOException e) {
      throw new AssertionError("Jedis closes sockets quietly", e);
    }
  }
}
