package dev.interlock.internal;

import dev.interlock.LockUnavailableException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * An outage of the store, as seen by one client for one name. It goes on from one head of the local
 * queue to the next. Used by the head; others only read {@link #trouble}.
 */
final class Outage {

  private LockUnavailableException failure;

  /** Later than its true beginning by all the time in which nobody asked the store. */
  private long since;

  /** When the store is to be asked again. */
  private long askAt;

  private @Nullable Backoff backoff;

  /** The last failure, but null once the store has let this client into its queue. */
  private volatile @Nullable LockUnavailableException trouble;

  /**
   * Begins with the first failure.
   *
   * @param sentAt the time before the request that failed
   */
  Outage(LockUnavailableException failure, long sentAt, long now) {
    this.failure = failure;
    this.since = sentAt;
    this.askAt = now;
  }

  LockUnavailableException failure() {
    return failure;
  }

  @Nullable LockUnavailableException trouble() {
    return trouble;
  }

  /**
   * Adds a failure.
   *
   * @param due when it had to be known: later, nobody could ask, as the process was stopped
   */
  void add(LockUnavailableException next, long due, long now) {
    leaveOut(now - due);
    failure = next;
    trouble = next;
    askAt = now;
  }

  /** The store is asked: the time by which that is late does not count. */
  void noteAsked(long now) {
    leaveOut(now - askAt);
    askAt = now;
  }

  private void leaveOut(long nanos) {
    since += Math.max(0, nanos);
  }

  /** The store has let this client into its queue. */
  void noTrouble() {
    trouble = null;
  }

  /** Returns for how many nanoseconds more a caller bears it. */
  long patience(Request request, long now) {
    long begun = since - request.since() > 0 ? since : request.since();
    return request.withoutStore().toNanos() - (now - begun);
  }

  /** Returns how long to pause before the store is asked again. */
  Duration pause(Platform platform, Request request, long now) {
    Duration ttl = request.options().ttl();
    if (backoff == null) {
      backoff = new Backoff(platform, ttl);
    }
    long pause = Math.min(backoff.next(ttl).toNanos(), patience(request, now));
    askAt = now + pause;
    return Duration.ofNanos(pause);
  }
}
