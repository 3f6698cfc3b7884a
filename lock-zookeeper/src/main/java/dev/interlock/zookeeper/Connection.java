package dev.interlock.zookeeper;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.function.Supplier;

/**
 * Replaces a session's connection when it falls silent. The driver itself would wait for two thirds
 * of the session's time-out, and by then all leases would be lost.
 *
 * <p>Requests that are sent without a connection wait in the driver for the next one, so their age
 * says nothing about it. The driver's state does not help: it is "connected" while the driver
 * pauses before its next attempt. So silence counts from the time at which Curator saw a
 * connection.
 */
final class Connection {

  /**
   * A tenth of the session's time-out leaves time for a failed renewal, a new connection and
   * another renewal.
   */
  private static final int SILENCES_PER_SESSION_TIMEOUT = 10;

  private final TimeSource time;
  private final Duration silenceTimeout;
  private final Supplier<Duration> sessionTimeout;
  private final Runnable reconnect;
  private volatile long heardAt;
  private volatile long answeredAt;

  @GuardedBy("this")
  private boolean up;

  @GuardedBy("this")
  private long upSince;

  /** The time since which requests have had no answer, unless something was heard later. */
  @GuardedBy("this")
  private long unansweredSince;

  /** The time at which a silent connection was last replaced. */
  @GuardedBy("this")
  private long replacedAt;

  /**
   * Starts without a connection.
   *
   * @param time the clock
   * @param silenceTimeout the shortest silence that counts while a request is pending
   * @param sessionTimeout the session's time-out
   * @param reconnect makes the driver open another connection
   */
  Connection(
      TimeSource time,
      Duration silenceTimeout,
      Supplier<Duration> sessionTimeout,
      Runnable reconnect) {
    this.time = time;
    this.silenceTimeout = silenceTimeout;
    this.sessionTimeout = sessionTimeout;
    this.reconnect = reconnect;
    this.heardAt = time.nanoTime();
    this.upSince = heardAt;
    this.unansweredSince = heardAt - 1;
    this.replacedAt = heardAt - Duration.ofDays(1).toNanos();
    this.answeredAt = replacedAt;
  }

  synchronized void onConnected() {
    up = true;
    upSince = time.nanoTime();
  }

  synchronized void onDisconnected() {
    up = false;
  }

  /** Called when a request has ended, with or without success. */
  void onRequestEnd() {
    heardAt = time.nanoTime();
  }

  /** Called when the server has answered a request. */
  void onReply() {
    answeredAt = time.nanoTime();
    heardAt = answeredAt;
  }

  /** Called when a request had no answer by its deadline. */
  void onRequestTimeout(long sentAt) {
    long now = time.nanoTime();
    synchronized (this) {
      long lastSignal = later(heardAt, upSince);
      if (unansweredSince - lastSignal < 0) {
        unansweredSince = later(sentAt, lastSignal);
      }
      long timeout = sessionTimeout.get().toNanos();
      // Reconnecting makes a slow server slower: do not do it at once, nor repeat it soon if it did
      // not help.
      long limit = Math.max(silenceTimeout.toNanos(), timeout / SILENCES_PER_SESSION_TIMEOUT);
      boolean stillSilent = answeredAt - replacedAt <= 0 && now - replacedAt < timeout / 2;
      if (!up || now - unansweredSince < limit || stillSilent) {
        return;
      }
      replacedAt = now;
    }
    reconnect.run();
  }

  private static long later(long one, long other) {
    return one - other >= 0 ? one : other;
  }
}
