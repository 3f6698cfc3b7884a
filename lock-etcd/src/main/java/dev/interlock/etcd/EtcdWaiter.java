package dev.interlock.etcd;

import dev.interlock.spi.Attempt;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Waits in a lock's queue: watches the entries ahead, checks whether its own entry's turn has come
 * when enough of them are gone, and checks again every poll interval.
 *
 * <p>A claim that excludes all others watches its predecessor only. That is a key with a certain
 * creation revision: a client that leaves and comes back gets the same key with another revision,
 * behind this entry.
 */
final class EtcdWaiter implements QueueingBackend.Place {

  private static final Duration SHORTEST_PAUSE = Duration.ofMillis(50);

  private final EtcdBackend backend;
  private final QueueEntry entry;
  private final WakeUp wakeUp;
  private final @Nullable String holder;
  private QueueView view;
  private @Nullable QueueWatch watch;
  private Duration pause = SHORTEST_PAUSE;
  private volatile boolean closed;

  /**
   * Makes a waiter.
   *
   * @param holder the holder's label if this entry is the second, which it then remains until it is
   *     the first; otherwise null
   */
  EtcdWaiter(EtcdBackend backend, QueueEntry entry, QueueView view, @Nullable String holder) {
    this.backend = backend;
    this.entry = entry;
    this.wakeUp = entry.wakeUp();
    this.view = view;
    this.holder = holder;
  }

  @Override
  public boolean hasPredecessor() {
    return !view.isTurn();
  }

  @Override
  public Attempt await(Deadline deadline) throws InterruptedException {
    try {
      while (!closed) {
        if (view.isTurn()) {
          return new Attempt.Granted(backend.grant(entry, view));
        }
        if (!awaitChange(deadline)) {
          break;
        }
        view = backend.look(entry);
      }
      return new Attempt.Busy(backend.pollInterval(), holder);
    } finally {
      endWatch();
    }
  }

  /** Returns false if the deadline has passed. */
  private boolean awaitChange(Deadline deadline) throws InterruptedException {
    Duration limit = backend.pollInterval();
    KeyRange toWatch = entry.toWatch(view.ahead());
    if (watch != null && watch.isBroken()) {
      // Where watches fail at once, a new one for each would be a flood.
      endWatch();
      limit = pause;
      pause = pause.compareTo(backend.pollInterval()) < 0 ? pause.multipliedBy(2) : pause;
    } else if (watch == null || !watch.isOf(toWatch)) {
      endWatch();
      watch = backend.watch(toWatch, view.ahead(), wakeUp);
    } else {
      pause = SHORTEST_PAUSE;
      watch.saw(view.ahead());
      limit = watch.pollInterval(view.revision(), limit);
    }
    return wakeUp.await(deadline.orIn(limit)) || !deadline.hasPassed();
  }

  private void endWatch() {
    QueueWatch ended = watch;
    watch = null;
    if (ended != null) {
      ended.close();
    }
  }

  @Override
  public void close() {
    closed = true;
    wakeUp.signal();
  }
}
