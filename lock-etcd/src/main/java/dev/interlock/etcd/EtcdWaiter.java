package dev.interlock.etcd;

import dev.interlock.LockUnavailableException;
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
 * <p>While the cluster does not answer, the entry keeps its place, for half of the outage time-out.
 * The other half is the engine's, which enters the queue again.
 *
 * <p>A claim that excludes all others watches its predecessor only. That is a key with a certain
 * creation revision: a client that leaves and comes back gets the same key with another revision,
 * behind this entry.
 */
final class EtcdWaiter implements QueueingBackend.Place {

  private static final Duration SHORTEST_PAUSE = Duration.ofMillis(50);

  /** A poll reads a queue with so many entries ahead, and a longer one less often. */
  private static final int ENTRIES_PER_POLL = 16;

  private final EtcdBackend backend;
  private final QueueEntry entry;
  private final WakeUp wakeUp;
  private final @Nullable String holder;
  private QueueView view;
  private @Nullable QueueWatch watch;
  private Duration pause = SHORTEST_PAUSE;
  private int pollsSinceLook;

  /** Why the last request failed; null if it was answered. */
  private @Nullable LockUnavailableException trouble;

  private long failingSince;
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
        try {
          if (view.isTurn()) {
            return new Attempt.Granted(backend.grant(entry, view));
          }
          boolean signalled = view.isComplete() && awaitSignal(deadline);
          if (closed || (deadline.hasPassed() && !signalled)) {
            break;
          }
          view = look(signalled, deadline.orIn(backend.options().requestTimeout()));
          trouble = null;
        } catch (LockUnavailableException e) {
          surviveOutage(e, deadline);
        }
      }
      if (trouble != null) {
        throw trouble;
      }
      return new Attempt.Busy(backend.options().pollInterval(), holder);
    } finally {
      endWatch();
    }
  }

  private QueueView look(boolean signalled, Deadline deadline) throws InterruptedException {
    boolean isDue =
        !entry.claim().share().isWhole()
            && (signalled || ++pollsSinceLook * ENTRIES_PER_POLL >= view.ahead().keys().size());
    if (view.isComplete() && !isDue && (watch == null || !watch.hasSeenRoom())) {
      return backend.lookAtOne(entry, view, deadline);
    }
    pollsSinceLook = 0;
    return backend.look(entry, deadline);
  }

  /** Throws a failure that lasts, or after which the entry may be gone. */
  private void surviveOutage(LockUnavailableException failure, Deadline deadline) {
    if (!Failures.isOfConnection(failure) || entry.hasOwnLease()) {
      throw failure;
    }
    long now = backend.time().nanoTime();
    boolean isCutShort = deadline.hasPassed() && Failures.isSilence(failure) && !view.isTurn();
    if (trouble == null && isCutShort) {
      // By the last answer the name is held.
      return;
    }
    if (trouble == null) {
      failingSince = now;
    }
    trouble = failure;
    if (now - failingSince >= backend.options().outageTimeout().toNanos() / 2
        || deadline.hasPassed()) {
      throw failure;
    }
  }

  /** Returns whether the watch has signalled, or the session has ended. */
  private boolean awaitSignal(Deadline deadline) throws InterruptedException {
    Duration limit = backend.options().pollInterval();
    KeyRange toWatch = entry.toWatch(view.ahead());
    if (watch != null && watch.isBroken()) {
      // Where watches fail at once, a new one for each would be a flood.
      endWatch();
      limit = pause;
      pause = pause.compareTo(backend.options().pollInterval()) < 0 ? pause.multipliedBy(2) : pause;
    } else if (watch == null || !watch.isOf(toWatch)) {
      endWatch();
      watch = backend.watch(toWatch, view.ahead(), wakeUp);
    } else {
      pause = SHORTEST_PAUSE;
      watch.saw(view.ahead());
      limit = watch.pollInterval(view.revision(), limit);
    }
    return wakeUp.await(deadline.orIn(limit));
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
