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
 * <p>It belongs to the thread that called the method. Another thread does not see it: pass it the
 * lease or its token. Within nested calls it is the lease of the innermost one; a call that has
 * joined the lock of an outer call sees the lease of that call.
 */
public final class CurrentLease {

  private static final ThreadLocal<@Nullable Hold> INNERMOST = new ThreadLocal<>();

  /** A call of a locked method. */
  record Call(LockClient client, List<String> names, LockedMethod method) {

    private boolean overlaps(Call wanted) {
      return client == wanted.client && !Collections.disjoint(names, wanted.names);
    }

    private boolean covers(Call wanted) {
      Mode mode = method.mode();
      Mode as = wanted.method.mode();
      return names.containsAll(wanted.names)
          && (mode == as || (mode == Mode.WRITE && as == Mode.READ));
    }
  }

  /** A lease of this thread, and those around it. There is no call in {@link #callWith}. */
  private record Hold(@Nullable Call call, Lease lease, @Nullable Hold outer) {}

  private CurrentLease() {}

  /**
   * Returns the lease under which the calling method runs. With several names it is a {@link
   * dev.interlock.MultiLease}.
   *
   * @return the lease; it is released by the end of the call, and may have been lost
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
   * Calls code as a {@link Locked} method with this lease would, for unit tests of code that asks
   * for {@link #get()}, without Spring.
   *
   * <pre>{@code
   * try (LockClient client = LockClient.open("memory:test");
   *     Lease lease = client.lock("order-7").acquire()) {
   *   CurrentLease.callWith(lease, () -> shipping.ship(7));
   * }
   * }</pre>
   *
   * <p>Neither acquires, checks nor releases the lease, and calls of {@link Locked} methods inside
   * do not join it.
   *
   * @param lease the current lease of this thread until the call ends
   * @param work what to call, on this thread
   * @param <T> the type of its result
   * @return what it returned
   * @throws Exception what it threw
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
   * Returns the lease of this thread that holds what a call wants.
   *
   * @return the lease, or null if the call has to acquire one
   * @throws IllegalStateException if the call would wait for a lease of its own thread, or wants
   *     limits that the lease does not have
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
