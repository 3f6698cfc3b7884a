package dev.interlock.zookeeper;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.function.Supplier;

/**
 * The connection that a session has at the moment, and whether it has fallen silent. A silent one
 * is taken for dead, and the driver made to look for another. By itself it would wait for two
 * thirds of the session's time-out, and then everything held would be lost already.
 *
 * <p>What is asked while there is no connection waits in the driver until there is one, which says
 * nothing about that one. Nor does the driver's own state: it calls itself connected while it rests
 * before its next try. So silence is counted from the moment when Curator had a connection.
 */
final class Connection {

  /** So that a lease lives through a renewal in vain, the new connection, and another renewal. */
  private static final int PATIENCES_PER_SESSION = 10;

  private final TimeSource time;
  private final Duration patience;
  private final Supplier<Duration> sessionTimeout;
  private final Runnable replacement;
  private volatile long heardAt;

  @GuardedBy("this")
  private boolean up;

  @GuardedBy("this")
  private long upSince;

  /** Since when requests have been without an answer, if nothing was heard after that. */
  @GuardedBy("this")
  private long unansweredSince;

  /** When a silent connection was last replaced. */
  @GuardedBy("this")
  private long replacedAt;

  /**
   * A connection that is not up yet.
   *
   * @param time the clock
   * @param patience how long it may be silent at least while something is asked
   * @param sessionTimeout the session's time-out
   * @param replacement has the driver make another
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
  }

  synchronized void up() {
    up = true;
    upSince = time.nanoTime();
  }

  synchronized void down() {
    up = false;
  }

  /** A request has ended, one way or the other. */
  void heard() {
    heardAt = time.nanoTime();
  }

  /** A request has had no answer in its time. */
  void notHeardSince(long askedAt) {
    long now = time.nanoTime();
    synchronized (this) {
      long lastSign = later(heardAt, upSince);
      if (unansweredSince - lastSign < 0) {
        unansweredSince = later(askedAt, lastSign);
      }
      long timeout = sessionTimeout.get().toNanos();
      // Neither at once nor again soon: a server that is only slow must not be made slower.
      long limit = Math.max(patience.toNanos(), timeout / PATIENCES_PER_SESSION);
      if (!up || now - unansweredSince < limit || now - replacedAt < timeout / 2) {
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
