package dev.interlock.zookeeper;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.function.Supplier;

/**
 * Watches a session's connection for silence. A silent connection counts as dead, and the driver is
 * made to open another. The driver itself would wait for two thirds of the session's time-out, when
 * all leases would be lost already.
 *
 * <p>Requests without a connection wait in the driver for the next one, so their age says nothing
 * about that one. The driver's state does not help either: it is "connected" while the driver
 * pauses before its next try. So silence counts from the time at which Curator saw a connection.
 */
final class Connection {

  /** Leaves time for a failed renewal, a new connection and another renewal. */
  private static final int PATIENCES_PER_SESSION = 10;

  private final TimeSource time;
  private final Duration patience;
  private final Supplier<Duration> sessionTimeout;
  private final Runnable replacement;
  private volatile long heardAt;
  private volatile long answeredAt;

  @GuardedBy("this")
  private boolean up;

  @GuardedBy("this")
  private long upSince;

  /** Since when requests have had no answer, unless something was heard later. */
  @GuardedBy("this")
  private long unansweredSince;

  /** When a silent connection was last replaced. */
  @GuardedBy("this")
  private long replacedAt;

  /**
   * Starts without a connection.
   *
   * @param time the clock
   * @param patience the shortest silence that counts, while a request is pending
   * @param sessionTimeout the session's time-out
   * @param replacement makes the driver open another connection
   */
  Connection(
      TimeSource time, Duration patience, Supplier<Duration> sessionTimeout, Runnable replacement) {
    this.time = time;
    this.patience = patience;
    this.sessionTimeout = sessionTimeout;
    this.replacement = replacement;
    this.heardAt = time.nanoTime();
    this.upSince = heardAt;
    this.unansweredSince = heardAt - 1;
    this.replacedAt = heardAt - Duration.ofDays(1).toNanos();
    this.answeredAt = replacedAt;
  }

  synchronized void up() {
    up = true;
    upSince = time.nanoTime();
  }

  synchronized void down() {
    up = false;
  }

  /** A request has ended, with or without success. */
  void heard() {
    heardAt = time.nanoTime();
  }

  /** The server has answered a request. */
  void answered() {
    answeredAt = time.nanoTime();
    heardAt = answeredAt;
  }

  /** A request had no answer by its deadline. */
  void unansweredSince(long sentAt) {
    long now = time.nanoTime();
    synchronized (this) {
      long lastSign = later(heardAt, upSince);
      if (unansweredSince - lastSign < 0) {
        unansweredSince = later(sentAt, lastSign);
      }
      long timeout = sessionTimeout.get().toNanos();
      // Not at once, and not again soon if that did not help: reconnections make a slow server
      // slower.
      long limit = Math.max(patience.toNanos(), timeout / PATIENCES_PER_SESSION);
      boolean inVain = answeredAt - replacedAt <= 0 && now - replacedAt < timeout / 2;
      if (!up || now - unansweredSince < limit || inVain) {
        return;
      }
      replacedAt = now;
    }
    replacement.run();
  }

  private static long later(long one, long other) {
    return one - other >= 0 ? one : other;
  }
}
