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
    /** The connection is subscribing. */
    void ready(Subscription subscription);

    /** From now on, messages on the channel are received. */
    void confirmed(Subscription subscription, String channel);

    /**
     * A release was published.
     *
     * @param waiter for whom the lock is reserved; empty if for nobody
     */
    void published(Subscription subscription, String channel, String waiter);
  }

  private final Connection connection;
  private final String restChannel;
  private final int silenceMillis;
  private final Listener listener;
  private final Set<String> asked = new HashSet<>();
  private volatile boolean ready;
  private volatile boolean closed;

  /**
   * Wraps a connection.
   *
   * @param restChannel a channel that stays subscribed, because a connection without any leaves the
   *     subscribing mode
   * @param silenceMillis after how long without a message the connection counts as broken
   */
  Subscription(Connection connection, String restChannel, int silenceMillis, Listener listener) {
    this.connection = connection;
    this.restChannel = restChannel;
    this.silenceMillis = silenceMillis;
    this.listener = listener;
  }

  /** Listens until the connection is closed, or throws when it breaks. */
  void listen() {
    try {
      proceed(connection, restChannel);
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

  /** Subscribes to the new ones of the given channels, and unsubscribes from all others. */
  void update(Collection<String> wanted) {
    Set<String> news = new HashSet<>(wanted);
    news.removeAll(asked);
    Set<String> olds = new HashSet<>(asked);
    olds.removeAll(wanted);
    asked.addAll(news);
    asked.removeAll(olds);
    if (!olds.isEmpty()) {
      send(() -> unsubscribe(olds.toArray(String[]::new)));
    }
    if (!news.isEmpty()) {
      send(() -> subscribe(news.toArray(String[]::new)));
    }
  }

  /**
   * Makes the server answer. Not with PING: Jedis takes the answer for an unknown message if it
   * comes before Jedis has noted the request.
   */
  void poke() {
    send(() -> subscribe(restChannel));
  }

  private void send(Runnable command) {
    if (closed) {
      return;
    }
    try {
      command.run();
    } finally {
      if (closed) {
        // Closed meanwhile: Jedis may have reconnected to send it.
        close();
      }
    }
  }

  @Override
  public void onSubscribe(String channel, int subscribedChannels) {
    if (closed) {
      // Closed before it began to listen: Jedis has reconnected.
      close();
    } else if (!channel.equals(restChannel)) {
      listener.confirmed(this, channel);
    } else if (!ready) {
      ready = true;
      // Jedis waits without limit here, and would never notice a connection that died silently.
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
