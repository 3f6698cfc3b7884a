package dev.interlock.etcd;

import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Waits in a lock's queue. Watches the entries ahead, and checks whether its own entry holds the
 * lock when enough of them are gone, and at every poll interval.
 *
 * <p>While the cluster does not answer, the entry keeps its place for half of the outage time-out.
 * In the other half the engine joins the queue again.
 *
 * <p>A claim that excludes all others watches only its predecessor, which is a key with a certain
 * creation revision. A client that leaves and joins again gets the same key with a later revision,
 * behind this entry.
 */
final class EtcdWaiter implements QueueingBackend.Place {

  private static final Duration MIN_PAUSE = Duration.ofMillis(50);

  /** A poll reads a queue with at most this many entries ahead, and a longer queue less often. */
  private static final int ENTRIES_PER_POLL = 16;

  private final EtcdBackend backend;
  private final QueueEntry entry;
  private final WakeUp wakeUp;
  private final @Nullable String holder;
  private QueueView view;
  private @Nullable QueueWatch watch;
  private Duration pause = MIN_PAUSE;
  private int pollsSinceLook;

  /** The failure of the last request; null if it was answered. */
  private @Nullable LockUnavailableException lastFailure;

  private long failingSince;
  private volatile boolean closed;

  /**
   * Creates a waiter.
   *
   * @param holder the holder's label if this entry is the second, as it then remains until it is
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
    return !view.holdsName();
  }

  @Override
  public Attempt await(Deadline deadline) throws InterruptedException {
    try {
      while (!closed) {
        try {
          if (view.holdsName()) {
            return new Attempt.Granted(backend.grant(entry, view));
          }
          boolean signalled = view.isComplete() && awaitSignal(deadline);
          if (closed || (deadline.hasPassed() && !signalled)) {
            break;
          }
          view = look(signalled, deadline.atMost(backend.options().requestTimeout()));
          lastFailure = null;
        } catch (LockUnavailableException e) {
          surviveOutage(e, deadline);
        }
      }
      if (lastFailure != null) {
        throw lastFailure;
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
    if (view.isComplete() && !isDue && (watch == null || !watch.hasRoom())) {
      return backend.lookAtOne(entry, view, deadline);
    }
    pollsSinceLook = 0;
    return backend.look(entry, deadline);
  }

  /** Records a failure, or throws it if it lasts or if the entry may be gone. */
  private void surviveOutage(LockUnavailableException failure, Deadline deadline) {
    if (!Failures.isOfConnection(failure) || entry.hasOwnLease()) {
      throw failure;
    }
    long now = backend.time().nanoTime();
    boolean wasCutShort = deadline.hasPassed() && Failures.isSilence(failure) && !view.holdsName();
    if (lastFailure == null && wasCutShort) {
      // By the last answer others hold the lock.
      return;
    }
    if (lastFailure == null) {
      failingSince = now;
    }
    lastFailure = failure;
    if (now - failingSince >= backend.options().outageTimeout().toNanos() / 2
        || deadline.hasPassed()) {
      throw failure;
    }
  }

  /**
   * Waits for a signal of the watch or the session's end. Returns false if the next poll is due.
   */
  private boolean awaitSignal(Deadline deadline) throws InterruptedException {
    Duration limit = backend.options().pollInterval();
    KeyRange toWatch = entry.toWatch(view.ahead());
    if (watch != null && watch.isBroken()) {
      // Watches that fail at once must not be replaced at once.
      endWatch();
      limit = pause;
      pause = pause.compareTo(backend.options().pollInterval()) < 0 ? pause.multipliedBy(2) : pause;
    } else if (watch == null || !watch.isOf(toWatch)) {
      endWatch();
      watch = backend.watch(toWatch, view.ahead(), wakeUp);
    } else {
      pause = MIN_PAUSE;
      watch.update(view.ahead());
      limit = watch.pollInterval(view.revision(), limit);
    }
    return wakeUp.await(deadline.atMost(limit));
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
