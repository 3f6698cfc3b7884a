package dev.interlock.spring;

import dev.interlock.Acquirable;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockTimeoutException;
import java.lang.reflect.UndeclaredThrowableException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;

/** Runs a method while it holds the lock that its {@link Locked} names. */
final class LockedInterceptor implements MethodInterceptor {

  private static final boolean TRANSACTIONS =
      ClassUtils.isPresent(
          "org.springframework.transaction.support.TransactionSynchronizationManager",
          LockedInterceptor.class.getClassLoader());

  private final LockedMethods methods;

  LockedInterceptor(LockedMethods methods) {
    this.methods = methods;
  }

  @Override
  public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
    Object target = invocation.getThis();
    Class<?> type =
        target == null
            ? invocation.getMethod().getDeclaringClass()
            : AopUtils.getTargetClass(target);
    LockedMethod method = methods.get(invocation.getMethod(), type);
    LockClient client = methods.client(method);
    List<String> names = method.names(target, invocation.getArguments());

    CurrentLease.Call call = new CurrentLease.Call(client, names, method);

    Lease joined = CurrentLease.covering(call);
    if (joined != null) {
      joined.ensureHeld();
      return run(invocation, call, joined);
    }
    refuseTransaction(method);
    Optional<? extends Lease> acquired = acquire(method, method.lock(client, names));
    if (acquired.isPresent()) {
      try (Lease lease = acquired.get()) {
        return run(invocation, call, lease);
      }
    }
    if (method.skipsWhenBusy()) {
      return method.emptyResult();
    }
    throw new LockTimeoutException(
        String.join(", ", names),
        Optional.ofNullable(method.waitFor()).orElse(Duration.ZERO),
        null);
  }

  private static void refuseTransaction(LockedMethod method) {
    if (TRANSACTIONS
        && !method.allowsTransaction()
        && TransactionSynchronizationManager.isActualTransactionActive()) {
      throw new IllegalStateException(
          method
              + " was called inside a transaction, which would commit after the lock is released;"
              + " put @Locked on the method that begins the transaction, or set"
              + " insideTransaction = true if this method has a transaction of its own");
    }
  }

  private static Optional<? extends Lease> acquire(
      LockedMethod method, Acquirable<? extends Lease> lock) throws InterruptedException {
    Duration waitFor = method.waitFor();
    try {
      if (waitFor == null) {
        return Optional.of(lock.acquire());
      }
      return waitFor.isZero() ? lock.tryAcquire() : lock.tryAcquire(waitFor);
    } catch (InterruptedException e) {
      if (method.declaresInterrupt()) {
        throw e;
      }
      Thread.currentThread().interrupt();
      CancellationException cancelled =
          new CancellationException(method + ": interrupted while waiting for the lock");
      cancelled.initCause(e);
      throw cancelled;
    }
  }

  private static @Nullable Object run(
      MethodInvocation invocation, CurrentLease.Call call, Lease lease) throws Throwable {
    LockedMethod method = call.method();
    CurrentLease.enter(call, lease);
    try {
      Object result =
          method.interruptsWhenLost()
              ? lease.<@Nullable Object>callWhileHeld(() -> proceed(invocation))
              : finish(invocation, lease);
      method.checkResult(result);
      return result;
    } finally {
      CurrentLease.leave();
    }
  }

  private static @Nullable Object finish(MethodInvocation invocation, Lease lease)
      throws Throwable {
    Object result = null;
    Exception failure = null;
    try {
      result = invocation.proceed();
    } catch (Exception e) {
      failure = e;
    }
    try {
      lease.ensureHeld();
    } catch (LeaseLostException loss) {
      if (failure != null && failure != loss) {
        loss.addSuppressed(failure);
      }
      throw loss;
    } catch (IllegalStateException e) {
      // The method has released the lease itself.
    }
    if (failure != null) {
      throw failure;
    }
    return result;
  }

  private static @Nullable Object proceed(MethodInvocation invocation) throws Exception {
    try {
      return invocation.proceed();
    } catch (Exception | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new UndeclaredThrowableException(e);
    }
  }
}
