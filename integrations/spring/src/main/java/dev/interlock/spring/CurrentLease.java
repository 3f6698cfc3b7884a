package dev.interlock.spring;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.spring.Locked.Mode;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/**
 * The lease under which a {@link Locked} method runs, for the code inside it.
 *
 * <pre>{@code
 * @Locked("order-#{#id}")
 * void ship(long id) {
 *   orders.ship(id, CurrentLease.get().fencingToken());
 * }
 * }</pre>
 *
 * <p>It belongs to the thread that called the method. Other threads do not see it: pass them the
 * lease or its token. In nested calls it is the lease of the innermost call. A call that has joined
 * the lock of an outer call sees the lease of the outer call.
 */
public final class CurrentLease {

  private static final ThreadLocal<@Nullable Hold> INNERMOST = new ThreadLocal<>();

  record Call(LockClient client, List<String> names, LockedMethod method) {

    private boolean overlaps(Call wanted) {
      return client == wanted.client && !Collections.disjoint(names, wanted.names);
    }

    private boolean covers(Call wanted) {
      Mode mode = method.mode();
      Mode wantedMode = wanted.method.mode();
      return names.containsAll(wanted.names)
          && (mode == wantedMode || (mode == Mode.WRITE && wantedMode == Mode.READ));
    }
  }

  /** A lease of this thread, and the leases of enclosing calls. {@link #callWith} has no call. */
  private record Hold(@Nullable Call call, Lease lease, @Nullable Hold outer) {}

  private CurrentLease() {}

  /**
   * Returns the lease under which the calling method runs. With several names it is a {@link
   * dev.interlock.MultiLease}.
   *
   * @return the lease, which may have been lost; the end of the call releases it
   * @throws IllegalStateException if this thread runs no {@link Locked} method: the method was not
   *     called through the bean's proxy, or this is another thread
   */
  public static Lease get() {
    return find()
        .orElseThrow(
            () ->
                new IllegalStateException(
                    "this thread is not inside a call of a @Locked method; a method of the same"
                        + " object called it without the proxy, or this is another thread"));
  }

  /**
   * Returns the lease under which the calling method runs, if there is one.
   *
   * @return the lease of {@link #get()}, or empty where that throws
   */
  public static Optional<Lease> find() {
    Hold innermost = INNERMOST.get();
    return innermost == null ? Optional.empty() : Optional.of(innermost.lease);
  }

  /**
   * Calls code as a {@link Locked} method with this lease would. It is for unit tests, without
   * Spring, of code that calls {@link #get()}.
   *
   * <pre>{@code
   * try (LockClient client = LockClient.open("memory:test");
   *     Lease lease = client.lock("order-7").acquire()) {
   *   CurrentLease.callWith(lease, () -> shipping.ship(7));
   * }
   * }</pre>
   *
   * <p>Does not acquire, check or release the lease. {@link Locked} methods that the code calls do
   * not join it.
   *
   * @param lease the current lease of this thread until the call ends
   * @param work the code, called on this thread
   * @param <T> the type of the result
   * @return the result of the code
   * @throws Exception if the code threw it
   */
  public static <T extends @Nullable Object> T callWith(Lease lease, Callable<T> work)
      throws Exception {
    INNERMOST.set(new Hold(null, Objects.requireNonNull(lease, "lease"), INNERMOST.get()));
    try {
      return work.call();
    } finally {
      leave();
    }
  }

  /** Throws if one of the leases of this thread is no longer held. */
  static void ensureAllHeld() {
    for (Hold hold = INNERMOST.get(); hold != null; hold = hold.outer) {
      hold.lease.ensureHeld();
    }
  }

  /**
   * Returns the lease of this thread that a call can join.
   *
   * @return the lease, or null if the call has to acquire one
   * @throws IllegalStateException if the call would wait for a lease of its own thread, or cannot
   *     join the lease because of its limits
   */
  static @Nullable Lease covering(Call wanted) {
    Call conflicting = null;
    for (Hold hold = INNERMOST.get(); hold != null; hold = hold.outer) {
      Call call = hold.call;
      if (call != null && call.overlaps(wanted)) {
        if (call.covers(wanted)) {
          wanted.method.checkJoins(call.method, wanted.client);
          return hold.lease;
        }
        conflicting = call;
      }
    }
    if (conflicting != null) {
      throw new IllegalStateException(
          ("this thread holds %s with mode %s, and would wait for itself to get %s with mode %s;"
                  + " let the outer method lock everything that the inner one needs")
              .formatted(
                  conflicting.names,
                  conflicting.method.mode(),
                  wanted.names,
                  wanted.method.mode()));
    }
    return null;
  }

  static void enter(Call call, Lease lease) {
    INNERMOST.set(new Hold(call, lease, INNERMOST.get()));
  }

  static void leave() {
    Hold innermost = INNERMOST.get();
    if (innermost == null || innermost.outer == null) {
      INNERMOST.remove();
    } else {
      INNERMOST.set(innermost.outer);
    }
  }
}
