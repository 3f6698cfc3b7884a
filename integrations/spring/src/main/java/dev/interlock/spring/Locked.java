package dev.interlock.spring;

import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LockTimeoutException;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.core.annotation.AliasFor;

/**
 * Runs a method of a Spring bean only while it holds a lock. The lock is acquired before the call,
 * and before a transaction of {@code @Transactional} on the same method begins; it is released when
 * the method has returned or thrown, after that transaction has ended.
 *
 * <pre>{@code
 * @Locked("order-#{#id}")
 * @Transactional
 * void ship(long id) {
 *   orders.ship(id, CurrentLease.get().fencingToken());
 * }
 *
 * @Scheduled(cron = "0 0 3 * * *")
 * @Locked(value = "nightly", whenBusy = WhenBusy.SKIP, minHold = "30s")
 * void nightly() { ... }
 * }</pre>
 *
 * <p>The lease is renewed while the method runs. A transaction of the calling thread that wants to
 * commit after the lease has been lost is rolled back. Within the method, {@link CurrentLease} has
 * the lease and its fencing token.
 *
 * <p>A call that already holds the lock through this annotation, on the same thread and through the
 * same client, joins it and does not wait for itself; it is refused if it asks for a longer {@link
 * #minHold()} or a shorter {@link #maxHold()} than the call around it. Otherwise locks are not
 * reentrant.
 *
 * <p>The call has to go through the bean's proxy. A call from another method of the same object
 * does not, and <b>runs without the lock</b>; nothing can detect that. What can be detected keeps
 * the application from starting: private, static and final methods, a bean that is not proxied,
 * results behind which work goes on after the method has returned, expressions and durations that
 * cannot be read, a client that does not exist.
 *
 * <p>All text may contain placeholders ({@code ${...}}). Besides what the method throws, a call
 * throws what {@link dev.interlock.Acquirable} lists, and:
 *
 * <ul>
 *   <li>{@link LockTimeoutException} if another held the lock throughout {@link #waitFor()};
 *   <li>{@link LeaseLostException} if the lease was lost before the method had ended; what the
 *       method threw is suppressed in it;
 *   <li>{@link IllegalStateException} if a transaction is under way that {@link
 *       #insideTransaction()} does not allow, if the thread would wait for itself, if the limits of
 *       the lock that it would join do not suffice, or if the method returned, as an {@code Object}
 *       or the like, a future or another result behind which its work may go on without the lock;
 *   <li>{@link IllegalArgumentException} if an expression of the name is null or not a simple
 *       value, or if {@link LockClient#lock(String)} refuses the name;
 *   <li>{@link InterruptedException} if the thread is interrupted while it waits and the method
 *       declares it; otherwise {@link java.util.concurrent.CancellationException}, and the thread's
 *       interrupt status is set.
 * </ul>
 */
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface Locked {

  /** What a name is locked as. */
  enum Mode {
    /** One holder at a time: {@link LockClient#lock(String)}. */
    EXCLUSIVE,
    /** Together with other readers: the read side of {@link LockClient#readWriteLock(String)}. */
    READ,
    /** Alone: the write side of {@link LockClient#readWriteLock(String)}. */
    WRITE
  }

  /** What a call does if another holds the lock for as long as the call waits. */
  enum WhenBusy {
    /** It throws {@link LockTimeoutException}. */
    THROW,
    /**
     * It returns without having run the method: nothing from a {@code void} method, an empty {@code
     * Optional}, or null from a method whose result is marked nullable. Other methods are refused
     * at start.
     */
    SKIP
  }

  /** What happens to the method if the lease is lost while it runs. */
  enum WhenLost {
    /** Its thread is interrupted: {@link dev.interlock.Lease#callWhileHeld}. */
    INTERRUPT,
    /** Nothing; it runs to its end, and then the call throws {@link LeaseLostException}. */
    FINISH
  }

  /**
   * The name of the lock: a text, in which {@code #{...}} are expressions, as in {@code
   * "order-#{#id}"}. Alias for {@link #name()}.
   *
   * @return the names
   */
  @AliasFor("name")
  String[] value() default {};

  /**
   * The name of the lock: a text, in which {@code #{...}} are expressions in SpEL. They see the
   * parameters by name ({@code #id}; the class has to be compiled with {@code -parameters}) and by
   * position ({@code #a0}), beans ({@code @names}), and the object itself as the root, so that
   * {@code #{region}} is its property. An expression must give a simple value: text, a number, an
   * enum, a date of {@code java.time}, a UUID.
   *
   * <p>Several names are acquired together, all or nothing, in an order that avoids deadlocks:
   * {@link LockClient#multiLock}.
   *
   * @return the names
   */
  @AliasFor("value")
  String[] name() default {};

  /**
   * The name of the lock as one expression, without {@code #{...}}, as in {@code "'order-' + #id"}.
   * Either this or {@link #name()} has to be given, or both for several names.
   *
   * @return the expressions
   */
  String[] expression() default {};

  /** {@return what the name is locked as} Several names can only be locked exclusively. */
  Mode mode() default Mode.EXCLUSIVE;

  /**
   * How long to wait while another holds the lock: a duration such as {@code 500ms}, {@code 10s} or
   * {@code PT10S}, or {@code 0} to try once. By default as long as {@link
   * LockOptions#waitTimeout()} of the client allows, which is without limit unless it is set; with
   * {@link WhenBusy#SKIP}, once.
   *
   * @return the time
   */
  String waitFor() default "";

  /** {@return what to do if the lock is still held by another after {@link #waitFor()}} */
  WhenBusy whenBusy() default WhenBusy.THROW;

  /** {@return what happens to the method if the lease is lost while it runs} */
  WhenLost whenLost() default WhenLost.INTERRUPT;

  /** {@return {@link LockOptions#ttl()} for this lock; by default that of the client} */
  String ttl() default "";

  /**
   * {@return {@link LockOptions#minHold()} for this lock; by default that of the client} Set it for
   * a scheduled method that ends sooner than the clocks of its machines differ.
   */
  String minHold() default "";

  /** {@return {@link LockOptions#maxHold()} for this lock; by default that of the client} */
  String maxHold() default "";

  /** {@return the name of the {@link LockClient} bean; by default the only or the primary one} */
  String client() default "";

  /**
   * Whether the method may be called inside a transaction that began before. Such a transaction
   * commits after the lock has been released, and may have read before it was acquired. By default
   * the call is refused. True is right if the method does its work in a transaction of its own, or
   * in none.
   *
   * @return whether it may
   */
  boolean insideTransaction() default false;
}
