package dev.interlock.etcd;

import dev.interlock.spi.WakeUp;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.watch.WatchEvent;
import io.etcd.jetcd.watch.WatchResponse;
import java.time.Duration;

/**
 * Signals when enough of the entries ahead may be gone: when as many keys were deleted, and
 * whenever that could have been missed, because the watch has just begun, or has failed.
 *
 * <p>A waiter for its predecessor watches that key. Where several claims may hold a name together,
 * all entries ahead count, so it watches their range. The deletions are counted here, and until
 * there is room, etcd is not asked.
 *
 * <p>A signal is a hint. jetcd's watch advances its revision when it reconnects, and can so lose an
 * event for good; a watch whose connection falls silent signals nothing at all.
 *
 * <p>The watch begins without a revision, because etcd serves watches that begin in the past only
 * ten times a second. It may end up among those all the same: etcd lets it begin after the revision
 * of that moment, which lies in the past if something is written before the watch is registered
 * (recvLoop in api/v3rpc/watch.go, watch in mvcc/watchable_store.go). etcd does not report this,
 * but it did not happen if nothing was written until after the watch had been created. Otherwise
 * the waiter polls until that tenth of a second is over.
 */
final class QueueWatch implements Watch.Listener, AutoCloseable {

  private static final Duration FIRST_PAUSE = Duration.ofMillis(5);

  /** The pauses until then, each twice as long as the one before, take 155 ms together. */
  private static final Duration LAST_PAUSE = Duration.ofMillis(80);

  private static final long UNKNOWN = -1;

  private final KeyRange watched;
  private final EntriesAhead ahead;
  private final WakeUp wakeUp;

  /** The revision after which the watch begins, known when it has been created. */
  private volatile long after = UNKNOWN;

  /** The next pause of the waiter, if the watch may be served late. */
  private Duration nextPause = FIRST_PAUSE;

  private volatile boolean broken;
  private volatile boolean ended;
  private final Runnable endOfWatch;

  QueueWatch(EtcdClient client, KeyRange watched, EntriesAhead ahead, WakeUp wakeUp) {
    this.watched = watched;
    this.ahead = ahead.copy();
    this.wakeUp = wakeUp;
    this.endOfWatch = client.watchDeletions(watched, this);
  }

  /** Whether this range is watched. */
  boolean isOf(KeyRange range) {
    return watched.equals(range);
  }

  /**
   * The waiter has looked. What it saw may be older than a deletion that was counted here: together
   * they may leave room, although neither does alone.
   */
  void saw(EntriesAhead later) {
    boolean wasFull = !ahead.leaveRoom();
    ahead.retain(later);
    if (wasFull && ahead.leaveRoom()) {
      wakeUp.signal();
    }
  }

  /** Whether so many entries were deleted that there may be room. */
  boolean hasSeenRoom() {
    return ahead.leaveRoom();
  }

  /** Whether the waiter needs another watch. */
  boolean isBroken() {
    return broken;
  }

  /**
   * Returns how long to wait for a signal before the next poll. Called after each poll.
   *
   * @param seen the revision of the last answer
   * @param usual the poll interval if the watch is served in time
   */
  Duration pollInterval(long seen, Duration usual) {
    boolean mayBeLate = after != UNKNOWN && seen > after;
    if (!mayBeLate || nextPause.compareTo(LAST_PAUSE) > 0) {
      return usual;
    }
    Duration pause = nextPause;
    nextPause = pause.multipliedBy(2);
    return pause.compareTo(usual) < 0 ? pause : usual;
  }

  @Override
  public void onNext(WatchResponse response) {
    if (response.isCreatedNotify()) {
      after = response.getHeader().getRevision();
    }
    for (WatchEvent event : response.getEvents()) {
      ahead.gone(event.getKeyValue().getKey());
    }
    if (response.isCreatedNotify() || ahead.leaveRoom()) {
      wakeUp.signal();
    }
  }

  @Override
  public void onError(Throwable failure) {
    broken = true;
    wakeUp.signal();
  }

  @Override
  public void onCompleted() {
    broken = true;
    // Also called after close(), which needs no signal.
    if (!ended) {
      wakeUp.signal();
    }
  }

  @Override
  public void close() {
    ended = true;
    endOfWatch.run();
  }
}
