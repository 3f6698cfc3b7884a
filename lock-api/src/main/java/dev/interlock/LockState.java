package dev.interlock;

import com.google.errorprone.annotations.CheckReturnValue;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * The state of a lock as the store reported it. It may have changed since, so use it for
 * diagnostics only, and never to decide whether you hold a lock. Immutable. Further accessors may
 * be added in any release.
 *
 * <p>An exclusive lock has at most one {@linkplain #holders() holder}. Where several hold a name
 * together, {@link #holder()}, {@link #fencingToken()}, {@link #remaining()} and {@link
 * #heldSince()} are those of the first in the list.
 */
@CheckReturnValue
public interface LockState {

  /** {@return the lock's name} */
  String name();

  /** {@return whether the lock was held} */
  default boolean isHeld() {
    return !holders().isEmpty();
  }

  /** {@return the kind of lock, or empty if it is free} */
  Optional<LockKind> kind();

  /** {@return the limit of a semaphore that is held; empty for other kinds, and if it is free} */
  OptionalInt limit();

  /**
   * {@return the holders of the name, in the order of their grants} Unmodifiable; empty if the lock
   * is free. Threads of one client that hold a read lock together may appear as one holder.
   */
  List<Holder> holders();

  /** {@return the first holder, the only one of an exclusive lock; empty if the lock is free} */
  default Optional<Holder> holder() {
    return holders().stream().findFirst();
  }

  /**
   * Returns the fencing token with which the store granted the lock to the holder's client. If that
   * client hands the lock off to other threads, their tokens are up to 63 higher.
   *
   * @return the token, or empty if the lock is free or the backend has no tokens
   */
  default OptionalLong fencingToken() {
    return holder().map(Holder::fencingToken).orElseGet(OptionalLong::empty);
  }

  /**
   * {@return how long the store will keep the lock without another renewal, or empty if the lock is
   * free or the time is not known}
   */
  default Optional<Duration> remaining() {
    return holder().flatMap(Holder::remaining);
  }

  /**
   * Returns when the store granted the lock to the holder's client, by the store's clock. Renewals,
   * and handoffs among that client's threads, do not change it.
   *
   * @return the time of the grant, or empty if the lock is free or the store does not record it
   */
  default Optional<Instant> heldSince() {
    return holder().flatMap(Holder::heldSince);
  }

  /**
   * {@return the labels of the waiters in the store's queue, the next one first} Unmodifiable;
   * empty if there are none or the store keeps no queue. A client with several waiting threads may
   * be in the queue once for all of them.
   */
  List<String> waiters();

  /** The mode in which a holder holds a name. More may be added. */
  enum Mode {
    /** An exclusive lock, alone. */
    EXCLUSIVE,
    /** A read-write lock, together with other readers. */
    READ,
    /** A read-write lock, alone. */
    WRITE,
    /** Some permits of a semaphore. */
    PERMITS
  }

  /**
   * A holder of a name, alone or together with others. Immutable. Further accessors may be added in
   * any release.
   */
  @CheckReturnValue
  interface Holder {

    /** {@return the holder's {@linkplain LockOptions#label() label}, if the store keeps it} */
    Optional<String> label();

    /** {@return the mode in which it holds the name} */
    Mode mode();

    /** {@return the number of permits of a semaphore that it holds; empty in other modes} */
    OptionalInt permits();

    /** {@return the holder's fencing token, or empty if the backend has none} */
    OptionalLong fencingToken();

    /** {@return how long the store will keep it without another renewal, if that is known} */
    Optional<Duration> remaining();

    /** {@return the time of the grant, by the store's clock, if the store records it} */
    Optional<Instant> heldSince();
  }
}
