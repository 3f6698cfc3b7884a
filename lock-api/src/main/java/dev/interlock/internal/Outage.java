package dev.interlock.internal;

import dev.interlock.LockUnavailableException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * An outage of the store, as seen by one client for one name. It continues from one head of the
 * local queue to the next. Only the head uses it, except for {@link #currentFailure}.
 */
final class Outage {

  private LockUnavailableException failure;

  /** The time of its beginning, moved later by all the time in which no thread asked the store. */
  private long startedAt;

  private long askAt;

  private @Nullable Backoff backoff;

  /** The last failure; null once the store has let this client into its queue. */
  private volatile @Nullable LockUnavailableException currentFailure;

  /**
   * Begins an outage with its first failure.
   *
   * @param sentAt the time before the request that failed
   */
  Outage(LockUnavailableException failure, long sentAt, long now) {
    this.failure = failure;
    this.startedAt = sentAt;
    this.askAt = now;
  }

  LockUnavailableException failure() {
    return failure;
  }

  @Nullable LockUnavailableException currentFailure() {
    return currentFailure;
  }

  /**
   * Adds a failure.
   *
   * @param due the time by which it had to be known; time after that does not count, because the
   *     process was stopped
   */
  void add(LockUnavailableException failure, long due, long now) {
    exclude(now - due);
    this.failure = failure;
    currentFailure = failure;
    askAt = now;
  }

  /** Records that the store is asked; the time by which that is late does not count. */
  void recordRequest(long now) {
    exclude(now - askAt);
    askAt = now;
  }

  private void exclude(long nanos) {
    startedAt += Math.max(0, nanos);
  }

  /** Records that the store has let this client into its queue. */
  void clearCurrentFailure() {
    currentFailure = null;
  }

  /** Returns the nanoseconds until the outage time-out of a caller. */
  long remaining(Request request, long now) {
    long begunAt = startedAt - request.startedAt() > 0 ? startedAt : request.startedAt();
    return request.outageTimeout().toNanos() - (now - begunAt);
  }

  /** Returns the pause before the store is asked again. */
  Duration pause(Platform platform, Request request, long now) {
    Duration ttl = request.options().ttl();
    if (backoff == null) {
      backoff = new Backoff(platform, ttl);
    }
    long pause = Math.min(backoff.next(ttl).toNanos(), remaining(request, now));
    askAt = now + pause;
    return Duration.ofNanos(pause);
  }
}
