package dev.interlock.etcd;

import dev.interlock.spi.WakeUp;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchResponse;
import java.time.Duration;

/**
 * Signals when the key before ours may be gone: when it is deleted, and whenever that could have
 * been missed, because the watch has just begun, or has failed.
 *
 * <p>It is a hint. jetcd's watch moves its revision on when it reconnects, and can so lose an event
 * for good; and one whose connection falls silent says nothing at all.
 *
 * <p>It begins without a revision, since etcd serves watches that begin in the past only ten times
 * a second. It may be taken for one of those all the same: etcd has it begin after the revision
 * that it had just now, and when something is written before the watch is entered, that lies in the
 * past (recvLoop in api/v3rpc/watch.go, watch in mvcc/watchable_store.go). Nothing says so, but
 * nothing of the kind has happened if nothing was written until after the watch was in place.
 * Otherwise the one who waits has to look by itself until that tenth of a second is over.
 */
final class PredecessorWatch implements Watch.Listener, AutoCloseable {

  private static final WatchOption DELETIONS =
      WatchOption.builder().withNoPut(true).withCreateNotify(true).withRequireLeader(true).build();

  private static final Duration FIRST_LOOK = Duration.ofMillis(5);

  /** The looks until then, each after twice the time of the one before, take 155 ms together. */
  private static final Duration LAST_LOOK = Duration.ofMillis(80);

  private static final long UNKNOWN = -1;

  private final WakeUp wakeUp;

  /** After which revision it begins; its creation tells. */
  private volatile long after = UNKNOWN;

  /** When to look by ourselves, if it may be served late. */
  private Duration nextLook = FIRST_LOOK;

  private volatile boolean broken;
  private volatile boolean ended;
  private final Watch.Watcher watcher;

  PredecessorWatch(Client client, ByteSequence key, WakeUp wakeUp) {
    this.wakeUp = wakeUp;
    this.watcher = client.getWatchClient().watch(key, DELETIONS, this);
  }

  /** Whether another one is needed. */
  boolean isBroken() {
    return broken;
  }

  /**
   * When to look again while nothing is heard. Called after each look.
   *
   * @param seen the revision of what was seen last
   * @param usual when to look again if the watch is served in time
   */
  Duration pollInterval(long seen, Duration usual) {
    boolean mayBeLate = after != UNKNOWN && seen > after;
    if (!mayBeLate || nextLook.compareTo(LAST_LOOK) > 0) {
      return usual;
    }
    Duration look = nextLook;
    nextLook = look.multipliedBy(2);
    return look.compareTo(usual) < 0 ? look : usual;
  }

  @Override
  public void onNext(WatchResponse response) {
    if (response.isCreatedNotify()) {
      after = response.getHeader().getRevision();
    }
    wakeUp.signal();
  }

  @Override
  public void onError(Throwable failure) {
    broken = true;
    wakeUp.signal();
  }

  @Override
  public void onCompleted() {
    broken = true;
    // Closing it says so, too, and is no reason to look again.
    if (!ended) {
      wakeUp.signal();
    }
  }

  @Override
  public void close() {
    ended = true;
    watcher.close();
  }
}
