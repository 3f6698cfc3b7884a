package dev.interlock.etcd;

import dev.interlock.LockOptions;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.DelayedTasks;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import io.etcd.jetcd.Client;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Sends requests to etcd, each with a deadline. The requests run on threads of the driver, so that
 * an interrupted caller can leave without breaking a connection.
 */
final class Requests implements AutoCloseable {

  private static final int MAX_TRIES = 2;
  private static final Duration RETRY_PAUSE = Duration.ofMillis(50);

  private final Clients clients;
  private final Failures failures;
  private final TimeSource time;
  private final DelayedTasks delayed = new DelayedTasks("interlock-etcd-later");

  Requests(Clients clients, Failures failures, TimeSource time) {
    this.clients = clients;
    this.failures = failures;
    this.time = time;
  }

  /**
   * Sends a request until a member accepts it. A member without a leader refuses it, and the driver
   * continues with the next member. After any other failure the request is in doubt.
   *
   * @throws dev.interlock.LockException if no answer came by the deadline, or the answer is a
   *     failure
   */
  <T> T ask(Deadline deadline, Function<EtcdClient, CompletableFuture<T>> request)
      throws InterruptedException {
    for (int tries = 1; ; tries++) {
      Clients.Loan loan = clients.borrow();
      try {
        return await(start(loan, request), deadline);
      } catch (TimeoutException | ExecutionException e) {
        report(loan, e);
        if (!Failures.saysNoLeader(e) || deadline.hasPassed()) {
          throw failures.explain(e);
        }
      }
      if (tries >= MAX_TRIES) {
        // Perhaps no member has a leader at the moment.
        boolean unused = new WakeUp(time).await(deadline.atMost(RETRY_PAUSE));
      }
    }
  }

  /**
   * Sends a request, and repeats it over other connections while there is no answer, so that a
   * suspended member does not use up the time. The request may be carried out more than once. The
   * first answer to any of the attempts counts. Without an answer this throws the last failure that
   * has a reason, so that a time-out does not hide an earlier refusal.
   */
  <T> T askAgain(Deadline deadline, Function<EtcdClient, CompletableFuture<T>> request)
      throws InterruptedException {
    CompletableFuture<T> answer = new CompletableFuture<>();
    Duration share = deadline.remaining().dividedBy(MAX_TRIES);
    @Nullable Throwable reported = null;
    int tries = 0;
    while (true) {
      Clients.Loan loan = clients.borrow();
      CompletableFuture<?> attempt = start(loan, request).handle(answering(answer));
      Throwable failure = failure(answer, attempt, deadline.atMost(share));
      if (failure != null && Failures.isOfConnection(failure)) {
        report(loan, failure);
        // A fast failure would recur at once, unless only this member has no leader.
        Duration pause =
            Failures.saysNoLeader(failure) && ++tries < MAX_TRIES ? Duration.ZERO : RETRY_PAUSE;
        if (failure(answer, answer, deadline.atMost(pause)) == null) {
          failure = null;
        }
      }
      if (failure == null) {
        return answer.join();
      }
      if (reported == null || !Failures.isSilence(failure)) {
        reported = failure;
      }
      if (deadline.hasPassed()
          || !Failures.isOfConnection(failure)
          || failures.saysClosedByProgram(failure)) {
        throw failures.explain(reported);
      }
    }
  }

  /** Sends a request through the program's own client, with the default request time-out. */
  static <T> T askAgain(
      Client etcd, Failures failures, Function<EtcdClient, CompletableFuture<T>> request)
      throws InterruptedException {
    TimeSource time = TimeSource.system();
    return new Requests(Clients.ofProgram(etcd), failures, time)
        .askAgain(Deadline.in(time, LockOptions.defaults().requestTimeout()), request);
  }

  /** Passes on an answer, or a failure that would recur on another connection. */
  private static <T> BiFunction<T, @Nullable Throwable, T> answering(CompletableFuture<T> answer) {
    return (value, failure) -> {
      if (failure == null) {
        answer.complete(value);
        return value;
      }
      if (!Failures.isOfConnection(failure)) {
        answer.completeExceptionally(failure);
      }
      throw new CompletionException(failure);
    };
  }

  /**
   * Waits for the answer or the end of an attempt. Returns the failure, or null if there is an
   * answer.
   */
  private @Nullable Throwable failure(
      CompletableFuture<?> answer, CompletableFuture<?> attempt, Deadline deadline)
      throws InterruptedException {
    try {
      await(CompletableFuture.anyOf(answer, attempt), deadline);
      return null;
    } catch (TimeoutException | ExecutionException e) {
      return e;
    }
  }

  /**
   * Waits as {@link CompletableFuture#get(long, TimeUnit)} does. That method makes a fork-join pool
   * start another thread in place of the waiting one, so that hundreds of callers could run where
   * sixteen were intended.
   */
  <T> T await(CompletableFuture<T> future, Deadline deadline)
      throws InterruptedException, ExecutionException, TimeoutException {
    WakeUp wakeUp = new WakeUp(time);
    var unused = future.whenComplete((value, failure) -> wakeUp.signal());
    while (!future.isDone()) {
      if (!wakeUp.await(deadline)) {
        throw new TimeoutException();
      }
    }
    return future.get();
  }

  private static void report(Clients.Loan loan, Throwable failure) {
    if (Failures.isSilence(failure)) {
      loan.reportSilence();
    } else if (Failures.isOfConnection(failure) && !Failures.saysNoLeader(failure)) {
      loan.reportFailure();
    }
  }

  /** Sends a request as {@link #ask} does, without waiting for the answer. */
  <T> CompletableFuture<T> send(
      Duration limit, Function<EtcdClient, CompletableFuture<T>> request) {
    return send(Deadline.in(time, limit), request);
  }

  private <T> CompletableFuture<T> send(
      Deadline deadline, Function<EtcdClient, CompletableFuture<T>> request) {
    Clients.Loan loan = clients.borrow();
    // A copy, so that the time-out does not complete the driver's own future, which gives the
    // client back.
    return delayed
        .timeOut(start(loan, request).copy(), deadline.remaining())
        .exceptionallyCompose(
            failure -> {
              report(loan, failure);
              return Failures.saysNoLeader(failure) && !deadline.hasPassed()
                  ? delayed.after(RETRY_PAUSE).thenCompose(paused -> send(deadline, request))
                  : CompletableFuture.failedFuture(failure);
            });
  }

  /** The scheduler that all requests of the client share. */
  DelayedTasks delayedTasks() {
    return delayed;
  }

  /** Ends the wait for every answer to a {@link #send}. */
  @Override
  public void close() {
    delayed.close();
  }

  private static <T> CompletableFuture<T> start(
      Clients.Loan loan, Function<EtcdClient, CompletableFuture<T>> request) {
    CompletableFuture<T> answer;
    try {
      answer = request.apply(loan.client());
    } catch (RuntimeException | Error e) { // there may be no thread
      answer = CompletableFuture.failedFuture(e);
    }
    return answer.whenComplete((result, failure) -> loan.giveBack(failure == null));
  }
}
