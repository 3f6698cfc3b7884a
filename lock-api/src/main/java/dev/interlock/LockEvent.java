package dev.interlock;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * An event of an acquisition, from the beginning of its wait to the end of its lease.
 *
 * <pre>{@code
 * client.onEvent(
 *     event -> {
 *       if (event instanceof LockEvent.Acquired acquired) {
 *         waitTimer.record(acquired.waited());
 *       } else if (event instanceof LockEvent.NotAcquired failure) {
 *         failures.increment(failure.reason());
 *       } else if (event instanceof LockEvent.Lost lost) {
 *         alert(lost.name(), lost.loss());
 *       }
 *     });
 * }</pre>
 *
 * <p>The events of one acquisition share a {@linkplain #acquisition() number}, and come in this
 * order:
 *
 * <ul>
 *   <li>{@link Waiting} and {@link AttemptFailed}, if it waits or retries;
 *   <li>{@link NotAcquired} or {@link Acquired};
 *   <li>after {@link Acquired}, any number of {@link Renewed}, {@link RenewalFailed} and {@link
 *       AtRisk}, and finally {@link Released} or {@link Lost}.
 * </ul>
 *
 * <p>A listener of a client gets all events. It gets those of a {@linkplain LockClient#multiLock
 * set} for each of its names, with the number of the set's acquisition. A listener of a lease gets
 * the events that follow {@link Acquired}. A listener of a {@link MultiLease} gets them for the set
 * as a whole, with its names joined and without a token.
 *
 * <p>Further kinds of events, and further accessors, may be added in any release. Therefore the
 * hierarchy is not sealed: a chain of {@code instanceof} ignores an unknown kind, and the compiler
 * requires a {@code default} in a {@code switch} over events. Add a {@code default} to a {@code
 * switch} over {@link NotAcquired.Reason}, too. Only Interlock and the tests of programs implement
 * these interfaces.
 */
public interface LockEvent {

  /** {@return the lock's name} */
  String name();

  /** {@return the kind of lock; the locks of a {@link MultiLease} are exclusive} */
  LockKind kind();

  /** {@return the lease's fencing token; empty before there is a lease, or without tokens} */
  OptionalLong fencingToken();

  /** {@return the number of the acquisition, unique within the client} */
  long acquisition();

  /** {@return the time of the event, by the local wall clock} */
  Instant time();

  /** {@return the {@linkplain LockOptions#label() label} of the waiter or holder} */
  String label();

  /**
   * An acquisition has to wait, because the lock is held or others are ahead in the queue. Reported
   * once.
   */
  interface Waiting extends LockEvent {

    /** {@return the label of the holder, if known without asking the store} */
    Optional<String> heldBy();
  }

  /** An attempt failed because the store was unavailable, and another one follows. */
  interface AttemptFailed extends LockEvent {

    /** {@return the failure} */
    LockException failure();
  }

  /** An acquisition ended without a lease. */
  interface NotAcquired extends LockEvent {

    /** Why an acquisition ended without a lease. More may be added. */
    enum Reason {
      /** The lock was still held at the end of the time to wait, which may be zero. */
      TIMED_OUT,
      /** The waiting thread was interrupted. */
      INTERRUPTED,
      /** The program cancelled the future, or completed it otherwise. */
      CANCELLED,
      /** The store was unavailable or refused the request, or the client was closed. */
      FAILED
    }

    /** {@return the reason} */
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
     * {@return whether the lock was handed off by another lease of this client, without a request
     * to the store}
     */
    boolean handedOff();
  }

  /**
   * A renewal was confirmed. For a set, a renewal of each of its names was confirmed since the last
   * such event.
   */
  interface Renewed extends LockEvent {

    /** {@return the remaining validity} */
    Duration remaining();
  }

  /** A renewal failed. Another one follows while the lease is renewed and held. */
  interface RenewalFailed extends LockEvent {

    /** {@return the remaining validity} */
    Duration remaining();

    /** {@return the failure} */
    LockException failure();
  }

  /**
   * A renewal failed, or none was confirmed for two thirds of the validity. The lease will be lost
   * at the end of its validity unless a later renewal succeeds. Reported once until a renewal
   * succeeds again, and logged as a warning.
   */
  interface AtRisk extends LockEvent {

    /** {@return the remaining validity} */
    Duration remaining();

    /** {@return the failure} */
    LockException failure();
  }

  /** The lease was lost. Reported once, and logged as a warning. */
  interface Lost extends LockEvent {

    /** {@return the loss, with its reason} */
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
