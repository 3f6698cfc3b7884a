package dev.interlock.etcd;

import dev.interlock.spi.WakeUp;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.watch.WatchEvent;
import io.etcd.jetcd.watch.WatchResponse;
import java.time.Duration;

/**
 * Signals when enough of the entries ahead may be gone: when enough keys were deleted, and when
 * deletions could have been missed because the watch has just begun or has failed.
 *
 * <p>A waiter for its predecessor watches that key. Where several claims may hold a lock together,
 * all entries ahead count, so the waiter watches their range. This class counts the deletions, and
 * the waiter does not ask etcd until there is room.
 *
 * <p>A signal is a hint. jetcd's watch advances its revision when it reconnects, and may so lose an
 * event for good. A watch whose connection falls silent signals nothing at all.
 *
 * <p>The watch begins without a revision, because etcd serves watches that begin in the past only
 * ten times a second. It may still become one of those. etcd lets it begin after the current
 * revision, which lies in the past if something is written before the watch is registered (recvLoop
 * in api/v3rpc/watch.go, watch in mvcc/watchable_store.go). etcd does not report this, but it did
 * not happen if nothing was written until after the watch had been created. Otherwise the waiter
 * polls until the tenth of a second is over.
 */
final class QueueWatch implements Watch.Listener, AutoCloseable {

  private static final Duration FIRST_PAUSE = Duration.ofMillis(5);

  /** The last pause. Each pause is twice as long as the one before; together they take 155 ms. */
  private static final Duration LAST_PAUSE = Duration.ofMillis(80);

  private static final long UNKNOWN = -1;

  private final KeyRange watched;
  private final EntriesAhead ahead;
  private final WakeUp wakeUp;

  /** The revision after which the watch begins, unknown until it has been created. */
  private volatile long startRevision = UNKNOWN;

  /** The next pause of the waiter if the watch may be served late. */
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

  boolean isOf(KeyRange range) {
    return watched.equals(range);
  }

  /**
   * Takes over the entries that the waiter has read. They may be older than a deletion that was
   * counted here: together both may leave room, although neither does alone.
   */
  void update(EntriesAhead later) {
    boolean wasFull = !ahead.leaveRoom();
    ahead.retain(later);
    if (wasFull && ahead.leaveRoom()) {
      wakeUp.signal();
    }
  }

  /** Whether enough entries were deleted that there may be room. */
  boolean hasRoom() {
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
    boolean mayBeLate = startRevision != UNKNOWN && seen > startRevision;
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
      startRevision = response.getHeader().getRevision();
    }
    for (WatchEvent event : response.getEvents()) {
      ahead.remove(event.getKeyValue().getKey());
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
    // This is also called after close(), when no signal is needed.
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
