package dev.interlock.etcd;

import dev.interlock.spi.Attempt;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.QueueingBackend;
import io.etcd.jetcd.ByteSequence;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A place in line: waits for the key with the nearest smaller creation revision to go, looks
 * whether it is our turn then, and looks again by itself from time to time.
 *
 * <p>What it waits for is a key of a certain creation revision, not a key by name: a client that
 * leaves and comes back gets the same key, with another revision, behind us.
 */
final class EtcdPlace implements QueueingBackend.Place {

  private static final Duration SHORTEST_PAUSE = Duration.ofMillis(50);

  private final EtcdBackend backend;
  private final QueueEntry entry;
  private QueueView view;
  private @Nullable PredecessorWatch watch;
  private @Nullable ByteSequence watched;
  private Duration pause = SHORTEST_PAUSE;
  private volatile boolean closed;

  EtcdPlace(EtcdBackend backend, QueueEntry entry, QueueView view) {
    this.backend = backend;
    this.entry = entry;
    this.view = view;
  }

  @Override
  public Attempt await(Deadline deadline) throws InterruptedException {
    try {
      while (!closed) {
        ByteSequence before = view.before();
        if (before == null) {
          return new Attempt.Granted(backend.grant(entry, view));
        }
        if (!awaitChange(before, deadline)) {
          break;
        }
        view = backend.look(entry);
      }
      return new Attempt.Busy(backend.pollInterval());
    } finally {
      endWatch();
    }
  }

  /** Returns false if the deadline has passed. */
  private boolean awaitChange(ByteSequence before, Deadline deadline) throws InterruptedException {
    Duration pollInterval = backend.pollInterval();
    if (watch != null && watch.isBroken()) {
      // Where watches fail at once, a new one for each would be a flood.
      endWatch();
      pollInterval = pause;
      pause = pause.compareTo(backend.pollInterval()) < 0 ? pause.multipliedBy(2) : pause;
    } else if (watch == null || !before.equals(watched)) {
      endWatch();
      watch = backend.watch(before, entry.wakeUp());
      watched = before;
    } else {
      pause = SHORTEST_PAUSE;
      pollInterval = watch.pollInterval(view.revision(), pollInterval);
    }
    return entry.wakeUp().await(deadline.orIn(pollInterval)) || !deadline.hasPassed();
  }

  private void endWatch() {
    PredecessorWatch ended = watch;
    watch = null;
    if (ended != null) {
      ended.close();
    }
  }

  @Override
  public void close() {
    closed = true;
    entry.wakeUp().signal();
  }
}
