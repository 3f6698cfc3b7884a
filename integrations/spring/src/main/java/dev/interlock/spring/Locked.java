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
 * Runs a method of a Spring bean under a lock. The lock is acquired before the call, and before a
 * transaction of {@code @Transactional} on the same method begins. It is released when the method
 * has returned or thrown, after that transaction has ended.
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
 * <p>The lease is renewed while the method runs. If the lease has been lost when the thread commits
 * a transaction, the transaction is rolled back instead. Within the method, {@link CurrentLease}
 * has the lease and its fencing token.
 *
 * <p>If the thread already holds the lock through this annotation and the same client, the call
 * joins that lock and does not wait for itself. The call is refused if its {@link #minHold()} is
 * longer, or its {@link #maxHold()} shorter, than that of the enclosing call. Otherwise locks are
 * not reentrant.
 *
 * <p>The call has to go through the bean's proxy. A call from another method of the same object
 * does not, and <b>runs without the lock</b>; nothing can detect that. Mistakes that can be
 * detected at start keep the application from starting: private, static and final methods, a bean
 * that is not proxied, results whose work goes on after the method has returned, expressions and
 * durations that cannot be read, a client that does not exist.
 *
 * <p>All text may contain placeholders ({@code ${...}}). Besides the exceptions of the method and
 * those that {@link dev.interlock.Acquirable} lists, a call throws:
 *
 * <ul>
 *   <li>{@link LockTimeoutException} if another held the lock throughout {@link #waitFor()};
 *   <li>{@link LeaseLostException} if the lease was lost before the method ended; an exception of
 *       the method is added as a suppressed one;
 *   <li>{@link IllegalStateException} if {@link #insideTransaction()} does not allow the current
 *       transaction, if the thread would wait for itself, if the limits of the enclosing call do
 *       not suffice, or if the method returned a future or another result whose work may go on
 *       without the lock, declared as {@code Object} or the like;
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

  /** The mode in which a name is locked. */
  enum Mode {
    /** One holder at a time: {@link LockClient#lock(String)}. */
    EXCLUSIVE,
    /** Any number of readers: the read side of {@link LockClient#readWriteLock(String)}. */
    READ,
    /** One writer: the write side of {@link LockClient#readWriteLock(String)}. */
    WRITE
  }

  /** The behaviour of a call if another still holds the lock after {@link #waitFor()}. */
  enum WhenBusy {
    /** The call throws {@link LockTimeoutException}. */
    THROW,
    /**
     * The call returns without running the method. The result is an empty {@code Optional}, or null
     * if the method's result is marked nullable. Methods with other results, except {@code void},
     * are refused at start.
     */
    SKIP
  }

  /** The treatment of the method if the lease is lost while it runs. */
  enum WhenLost {
    /**
     * The thread that runs the method is interrupted; see {@link
     * dev.interlock.Lease#callWhileHeld}.
     */
    INTERRUPT,
    /** The method runs to its end, and then the call throws {@link LeaseLostException}. */
    FINISH
  }

  /**
   * The name of the lock: a text with expressions in {@code #{...}}, such as {@code
   * "order-#{#id}"}. Alias for {@link #name()}.
   *
   * @return the names
   */
  @AliasFor("name")
  String[] value() default {};

  /**
   * The name of the lock: a text with SpEL expressions in {@code #{...}}. Expressions see the
   * parameters by name ({@code #id}; the class has to be compiled with {@code -parameters}) and by
   * position ({@code #a0}), beans ({@code @names}), and the object itself as the root, so {@code
   * #{region}} is its property. An expression must give a simple value: text, a number, an enum, a
   * date of {@code java.time}, a UUID.
   *
   * <p>Several names are acquired together, all or nothing, in an order that avoids deadlocks:
   * {@link LockClient#multiLock}.
   *
   * @return the names
   */
  @AliasFor("value")
  String[] name() default {};

  /**
   * The name of the lock as one expression, without {@code #{...}}, such as {@code "'order-' +
   * #id"}. Either this or {@link #name()} has to be given, or both for several names.
   *
   * @return the expressions
   */
  String[] expression() default {};

  /** {@return the mode of the lock} Several names can only be locked exclusively. */
  Mode mode() default Mode.EXCLUSIVE;

  /**
   * The time to wait while another holds the lock: a duration such as {@code 500ms}, {@code 10s} or
   * {@code PT10S}, or {@code 0} to try once. By default a call with {@link WhenBusy#SKIP} tries
   * once. Other calls by default wait for the client's {@link LockOptions#waitTimeout()}, or
   * without limit if that is not set.
   *
   * @return the time
   */
  String waitFor() default "";

  /** {@return the behaviour of a call if another still holds the lock after {@link #waitFor()}} */
  WhenBusy whenBusy() default WhenBusy.THROW;

  /** {@return the treatment of the method if the lease is lost while it runs} */
  WhenLost whenLost() default WhenLost.INTERRUPT;

  /** {@return {@link LockOptions#ttl()} for this lock; by default that of the client} */
  String ttl() default "";

  /**
   * {@return {@link LockOptions#minHold()} for this lock; by default that of the client} Set it for
   * a scheduled method on several machines whose clocks may differ by more than the method takes.
   */
  String minHold() default "";

  /** {@return {@link LockOptions#maxHold()} for this lock; by default that of the client} */
  String maxHold() default "";

  /** {@return the name of the {@link LockClient} bean; by default the only or the primary one} */
  String client() default "";

  /**
   * Whether the method may be called inside a transaction that began before. By default the call is
   * refused, because such a transaction commits after the lock has been released, and may have read
   * before it was acquired. True is right if the method works in a transaction of its own, or in
   * none.
   *
   * @return whether it may be called inside a transaction
   */
  boolean insideTransaction() default false;
}
