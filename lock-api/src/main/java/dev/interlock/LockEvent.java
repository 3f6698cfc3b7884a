package dev.interlock;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Something that happened to an acquisition, from the beginning of its wait to the end of its
 * lease.
 *
 * <pre>{@code
 * client.onEvent(
 *     event -> {
 *       if (event instanceof LockEvent.Acquired acquired) {
 *         waitTimer.record(acquired.waited());
 *       } else if (event instanceof LockEvent.GaveUp gaveUp) {
 *         failures.increment(gaveUp.reason());
 *       } else if (event instanceof LockEvent.Lost lost) {
 *         alert(lost.name(), lost.loss());
 *       }
 *     });
 * }</pre>
 *
 * <p>Events of one acquisition share a {@linkplain #acquisition() number} and come in this order:
 * {@link Waiting} and {@link AttemptFailed}, if it waits or retries; then either {@link GaveUp}, or
 * {@link Acquired}, any number of {@link Renewed}, {@link RenewalFailed} and {@link AtRisk}, and
 * finally {@link Released} or {@link Lost}.
 *
 * <p>A listener of a client gets all of these, for each name of a {@linkplain LockClient#multiLock
 * set} separately, with the number of the set's acquisition. A listener of a lease gets those that
 * follow {@link Acquired}. A listener of a {@link MultiLease} gets them for the set as a whole: its
 * names joined, and no token.
 *
 * <p>Further kinds of events, and further accessors, may be added in any release. Therefore the
 * hierarchy is not sealed: a chain of {@code instanceof} ignores an unknown kind, and the compiler
 * requires a {@code default} in a {@code switch} over events. A {@code switch} over {@link
 * GaveUp.Reason} needs one as well. Only Interlock, and programs' own tests, implement these
 * interfaces.
 */
public interface LockEvent {

  /** {@return the lock's name} */
  String name();

  /** {@return the kind of lock; the locks of a {@link MultiLease} are exclusive} */
  LockKind kind();

  /** {@return the lease's fencing token; empty before there is a lease, or if there are none} */
  OptionalLong fencingToken();

  /** {@return the number of the acquisition, unique within the client} */
  long acquisition();

  /** {@return when it happened, by the local wall clock} */
  Instant time();

  /** {@return the {@linkplain LockOptions#label() label} of the waiter or holder} */
  String label();

  /**
   * An acquisition has to wait: the lock is held, or others are ahead in the queue. Reported once.
   */
  interface Waiting extends LockEvent {

    /** {@return the label of the holder, if known without asking the store} */
    Optional<String> heldBy();
  }

  /** An attempt failed because the store was unavailable, and another one follows. */
  interface AttemptFailed extends LockEvent {

    /** {@return what went wrong} */
    LockException failure();
  }

  /** An acquisition ended without a lease. */
  interface GaveUp extends LockEvent {

    /** Why an acquisition ended without a lease. More may be added. */
    enum Reason {
      /** The lock was still held at the end of the waiting time, which may be none. */
      TIMED_OUT,
      /** The waiting thread was interrupted. */
      INTERRUPTED,
      /** The program cancelled the future, or completed it otherwise. */
      CANCELLED,
      /** The store was unavailable or refused the request, or the client was closed. */
      FAILED
    }

    /** {@return why} */
    Reason reason();

    /** {@return the time since the call} */
    Duration waited();

    /** {@return the failure; empty if the lock was held, or the program ended the wait} */
    Optional<Throwable> failure();

    /** {@return the label of the holder last seen, if known without asking the store} */
    Optional<String> heldBy();
  }

  /** The lock was acquired. */
  interface Acquired extends LockEvent {

    /** {@return the time since the call} */
    Duration waited();

    /**
     * {@return whether another lease of this client handed the lock off, without a request to the
     * store}
     */
    boolean handedOff();
  }

  /** A renewal was confirmed; for a set, of all its names since the last such event. */
  interface Renewed extends LockEvent {

    /** {@return the validity left} */
    Duration remaining();
  }

  /** A renewal failed. Another one follows while the lease is renewed and held. */
  interface RenewalFailed extends LockEvent {

    /** {@return the validity left} */
    Duration remaining();

    /** {@return what went wrong} */
    LockException failure();
  }

  /**
   * A renewal failed, or none was confirmed for two thirds of the validity; the lease will be lost
   * when its validity ends unless a later one succeeds. Reported once until a renewal succeeds
   * again, and logged as a warning.
   */
  interface AtRisk extends LockEvent {

    /** {@return the validity left} */
    Duration remaining();

    /** {@return what went wrong} */
    LockException failure();
  }

  /** The lease was lost. Reported once, and logged as a warning. */
  interface Lost extends LockEvent {

    /** {@return why} */
    LeaseLostException loss();

    /** {@return how long it was held} */
    Duration heldFor();
  }

  /** The lease was released. */
  interface Released extends LockEvent {

    /** {@return the outcome, never {@link ReleaseOutcome#ALREADY_LOST}} */
    ReleaseOutcome outcome();

    /** {@return how long it was held, up to the end of its release} */
    Duration heldFor();
  }
}
