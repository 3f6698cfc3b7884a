package dev.interlock.zookeeper;

import dev.interlock.LockException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.WakeUp;
import java.util.List;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.jspecify.annotations.Nullable;

/**
 * A place in a lock's line, which watches the place before it and no other.
 *
 * <p>It outlasts broken connections: as long as the session lives the node stays in line, and the
 * driver sets the watch again. When the session has ended the place is lost. Now and then it looks
 * again by itself, at the one before and at its own node, in case an event was lost or somebody
 * deleted the node.
 */
final class WaitingPlace implements QueueingBackend.Place, Watcher {

  private final ZooKeeperBackend backend;
  private final Claim claim;
  private final QueueNode standing;
  private final WakeUp wakeUp;

  private Line line;
  private volatile int place;
  private @Nullable LockException trouble;

  /** Whether the session was confirmed for our turn. */
  private boolean confirmed;

  /** What the line is now that the one before us has gone; null if that was not asked yet. */
  private volatile @Nullable Reply<List<String>> look;

  /** The node that is watched; null if none is, or its watch has fired. */
  private volatile @Nullable String watched;

  private volatile boolean predecessorGone;
  private volatile boolean closed;

  WaitingPlace(ZooKeeperBackend backend, Claim claim, QueueNode standing, Line line, int place) {
    this.backend = backend;
    this.claim = claim;
    this.standing = standing;
    this.wakeUp = new WakeUp(backend.time());
    this.line = line;
    this.place = place;
    standing.session().join(wakeUp);
  }

  @Override
  public Attempt await(Deadline deadline) throws InterruptedException {
    while (true) {
      if (closed) {
        throw backend.failures().passing("the wait was ended", null);
      }
      if (standing.session().hasEnded()) {
        throw backend.failures().sessionEnded();
      }
      if (place == 0 && sessionIsFresh()) {
        return backend.grant(claim, standing);
      }
      if (deadline.hasPassed()) {
        if (trouble != null) {
          throw trouble;
        }
        return new Attempt.Busy(backend.pollInterval());
      }
      try {
        goOn(deadline);
      } catch (KeeperException e) {
        LockException problem = backend.failures().explain(e);
        if (!Failures.isPassing(e)) {
          throw problem;
        }
        // The place is kept for as long as the session is. That a request was cut short by our own
        // deadline is no trouble: the last answer is still that somebody is before us.
        if (e.code() != Code.OPERATIONTIMEOUT || place == 0 || !deadline.hasPassed()) {
          trouble = problem;
        }
      }
    }
  }

  private void goOn(Deadline deadline) throws KeeperException, InterruptedException {
    Deadline soon = deadline.orIn(backend.requestTimeout());
    if (place == 0) {
      confirm(soon);
    } else if (predecessorGone) {
      advance(soon);
    } else if (watched == null) {
      watch(soon);
    } else if (!wakeUp.await(deadline.orIn(backend.pollInterval())) && !deadline.hasPassed()) {
      pollInterval(soon);
    }
  }

  // --- the turn -------------------------------------------------------------------------------

  /**
   * Whether most of what is certain after a committed write is still to come. After a write that
   * was made for this very purpose some of it will do: the next would take as long.
   */
  private boolean sessionIsFresh() {
    long age = backend.time().nanoTime() - standing.session().confirmedAt();
    return age < standing.session().validityPerConfirmation().toNanos() * (confirmed ? 3 : 1) / 4;
  }

  /** Renews what is known of the session, and of our own node. */
  private void confirm(Deadline deadline) throws KeeperException, InterruptedException {
    if (!standing.session().awaitPulse(wakeUp, deadline)) {
      trouble = backend.failures().unheard(trouble);
      return;
    }
    long sentAt = backend.time().nanoTime();
    if (backend.check(standing.session(), List.of(standing.path()), deadline).get(0) != 0) {
      throw backend.placeLost();
    }
    standing.session().confirm(sentAt);
    confirmed = true;
    trouble =
        sessionIsFresh()
            ? null
            : backend.failures().slow(standing.session().validityPerConfirmation());
  }

  /**
   * Whoever was before us has gone. If nobody was before him, it is our turn: no look is needed.
   */
  private void advance(Deadline deadline) throws KeeperException, InterruptedException {
    if (place == 1) {
      place = 0;
    } else {
      // As our own session sees it, which is never older than what it was told before.
      Reply<List<String>> asked = look;
      look = null; // should it fail, the next is asked here
      if (asked == null) {
        asked = standing.session().children(standing.lockPath());
      }
      line = backend.checked(standing.lockPath(), Line.of(asked.await(deadline)));
      place = line.placeOf(standing.node().name());
      if (place < 0) {
        throw backend.placeLost();
      }
    }
    look = null;
    predecessorGone = false;
    trouble = null;
  }

  // --- the one before -------------------------------------------------------------------------

  private String predecessor() {
    return standing.lockPath() + "/" + line.nodes().get(place - 1).name();
  }

  private void watch(Deadline deadline) throws KeeperException, InterruptedException {
    String path = predecessor();
    // First, so that no event comes before it; and a late answer sets the watch all the same.
    watched = path;
    try {
      standing.session().watch(path, this).await(deadline);
      trouble = null;
    } catch (KeeperException e) {
      if (Failures.isNoNode(e)) {
        watched = null;
        predecessorGone = true;
        return;
      }
      if (e.code() != Code.OPERATIONTIMEOUT) {
        watched = null;
      }
      throw e;
    }
  }

  private void pollInterval(Deadline deadline) throws KeeperException, InterruptedException {
    Reply<Session.Content> before = standing.session().data(predecessor());
    Reply<Session.Content> own = standing.session().data(standing.path());
    try {
      own.await(deadline);
    } catch (KeeperException e) {
      if (Failures.isNoNode(e)) {
        throw backend.placeLost();
      }
      throw e;
    }
    try {
      before.await(deadline);
      trouble = null;
    } catch (KeeperException e) {
      if (!Failures.isNoNode(e)) {
        throw e;
      }
      unwatch();
      predecessorGone = true;
    }
  }

  @Override
  public void process(WatchedEvent event) {
    switch (event.getType()) {
      case NodeDeleted -> {
        if (event.getPath().equals(watched)) {
          watched = null;
          if (place > 1 && !closed) {
            // Asked here, the answer is on its way before the one who waits is awake.
            look = standing.session().children(standing.lockPath());
          }
          predecessorGone = true;
        }
      }
      // Nobody writes to these nodes; but if somebody does, the watch is used up.
      case NodeDataChanged -> watched = null;
      default -> {
        // The driver sets the watch again after a broken connection. Of the session's end we are
        // told in any case.
      }
    }
    wakeUp.signal();
  }

  private void unwatch() {
    String path = watched;
    if (path != null) {
      watched = null;
      standing.session().unwatch(path);
    }
  }

  @Override
  public void close() {
    closed = true;
    standing.session().leave(wakeUp);
    unwatch();
    wakeUp.signal();
  }
}
