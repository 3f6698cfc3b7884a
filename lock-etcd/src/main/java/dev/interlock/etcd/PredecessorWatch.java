package dev.interlock.etcd;

import dev.interlock.spi.WakeUp;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchResponse;

/**
 * Signals when the key before ours may be gone: when it is deleted, and whenever that could have
 * been missed, because the watch has just begun, or has failed.
 *
 * <p>It is a hint. jetcd's watch moves its revision on when it reconnects, and can so lose an event
 * for good; and one whose connection falls silent says nothing at all. It begins without a
 * revision: etcd serves watches that begin in the past only ten times a second.
 */
final class PredecessorWatch implements Watch.Listener, AutoCloseable {

  private static final WatchOption DELETIONS =
      WatchOption.builder().withNoPut(true).withCreateNotify(true).withRequireLeader(true).build();

  private final WakeUp wakeUp;
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

  @Override
  public void onNext(WatchResponse response) {
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
