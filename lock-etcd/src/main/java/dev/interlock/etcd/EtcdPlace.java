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
  private final Ticket ticket;
  private Outlook outlook;
  private @Nullable PredecessorWatch watch;
  private @Nullable ByteSequence watched;
  private Duration pause = SHORTEST_PAUSE;
  private volatile boolean closed;

  EtcdPlace(EtcdBackend backend, Ticket ticket, Outlook outlook) {
    this.backend = backend;
    this.ticket = ticket;
    this.outlook = outlook;
  }

  @Override
  public Attempt await(Deadline deadline) throws InterruptedException {
    try {
      while (!closed) {
        ByteSequence before = outlook.before();
        if (before == null) {
          return new Attempt.Granted(backend.grant(ticket, outlook));
        }
        if (!awaitChange(before, deadline)) {
          break;
        }
        outlook = backend.look(ticket);
      }
      return new Attempt.Busy(backend.lookAgain());
    } finally {
      endWatch();
    }
  }

  /** Returns false if the deadline has passed. */
  private boolean awaitChange(ByteSequence before, Deadline deadline) throws InterruptedException {
    Duration lookAgain = backend.lookAgain();
    if (watch != null && watch.isBroken()) {
      // Where watches fail at once, a new one for each would be a flood.
      endWatch();
      lookAgain = pause;
      pause = pause.compareTo(backend.lookAgain()) < 0 ? pause.multipliedBy(2) : pause;
    } else if (watch == null || !before.equals(watched)) {
      endWatch();
      watch = backend.watch(before, ticket.wakeUp());
      watched = before;
    } else {
      pause = SHORTEST_PAUSE;
      lookAgain = watch.lookAgain(outlook.revision(), lookAgain);
    }
    return ticket.wakeUp().await(deadline.orIn(lookAgain)) || !deadline.hasPassed();
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
    ticket.wakeUp().signal();
  }
}
