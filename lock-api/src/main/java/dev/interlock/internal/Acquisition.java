package dev.interlock.internal;

import dev.interlock.LockOptions;
import dev.interlock.LockTimeoutException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One call that acquires a lock: first its place at the head of the local line, then the lock on
 * the server. This is the part that is the same whether a thread waits or a future does.
 */
record Acquisition(Engine engine, Request request, Patience patience) {

  /**
   * How long to wait, and what it means when that time has passed.
   *
   * @param since when the call began
   * @param deadline when to give up waiting
   * @param withoutStore for how long on end the store may be unavailable
   * @param timeoutIsFailure whether giving up is an exception
   * @param leastPerRequest what a request is given even if the deadline is nearer
   */
  record Patience(
      TimeSource time,
      long since,
      Deadline deadline,
      Duration withoutStore,
      boolean timeoutIsFailure,
      Duration leastPerRequest) {

    /** Within this a healthy store answers, also one on another continent. */
    private static final Duration LEAST_PER_REQUEST = Duration.ofMillis(250);

    private static final Duration FOR_EVER = Duration.ofDays(36_500);

    /** For {@code acquire()}. */
    static Patience untilHad(Engine engine, LockOptions options) {
      TimeSource time = engine.time();
      Deadline deadline =
          options
              .waitTimeout()
              .map(timeout -> Deadline.in(time, timeout))
              .orElseGet(() -> Deadline.never(time));
      return new Patience(time, time.nanoTime(), deadline, options.term(), true, LEAST_PER_REQUEST);
    }

    /**
     * For {@code tryAcquire(timeout)}: the store may fail for as long as there is time. For {@code
     * tryAcquire()} that is none, and its one request has all the time that requests have.
     */
    static Patience upTo(Engine engine, Duration timeout) {
      TimeSource time = engine.time();
      return new Patience(
          time,
          time.nanoTime(),
          Deadline.in(time, timeout),
          FOR_EVER,
          false,
          timeout.isZero() ? engine.requestTimeout() : LEAST_PER_REQUEST);
    }

    /** For the next member of a set: what is left for it. */
    Patience forMember() {
      Duration left = end().remaining();
      Duration least = left.compareTo(leastPerRequest) < 0 ? left : leastPerRequest;
      return new Patience(time, since, deadline, withoutStore, false, least);
    }

    /** When even a request that was sent at the deadline has had its time. */
    Deadline end() {
      return Deadline.at(time, deadline.nanos() + leastPerRequest.toNanos());
    }

    /**
     * When to give up a request that is sent now: it gets no more time than its caller has, unless
     * that is too little for any store.
     */
    Deadline forRequest(Duration requestTimeout) {
      long now = time.nanoTime();
      return Deadline.at(time, now + Math.min(requestTimeout.toNanos(), left(now)));
    }

    /** When to give up waiting for a thread that sends the first request. */
    Deadline forThread() {
      long now = time.nanoTime();
      return Deadline.at(time, now + left(now));
    }

    private long left(long now) {
      return Math.max(leastPerRequest.toNanos(), deadline.nanos() - now);
    }
  }

  String name() {
    return request.name();
  }

  /** As the head of the local line: gets the lock from the server, or passes on. */
  @Nullable LeaseState contend() throws InterruptedException {
    LeaseState lease = null;
    try {
      engine.ensureOpen();
      Contest contest = engine.line().contest(name());
      if (contest == null) {
        contest = new Contest(engine, name());
        engine.line().contest(name(), contest);
      }
      lease = contest.run(request, patience);
    } finally {
      if (lease == null) {
        engine.line().pass(name());
      }
    }
    if (lease != null && engine.isClosed()) {
      // The client may have released its leases before it knew of this one.
      var unused = lease.release();
      throw engine.closed();
    }
    return lease == null ? timedOut() : lease;
  }

  /** What it comes to when the time has passed behind another thread of this client. */
  @Nullable LeaseState timedOutInLine() {
    Contest contest = engine.line().contest(name());
    LockUnavailableException trouble = contest == null ? null : contest.trouble();
    if (trouble != null) {
      throw engine.unavailable("the store could not be asked in time", trouble);
    }
    return timedOut();
  }

  private @Nullable LeaseState timedOut() {
    if (patience.timeoutIsFailure()) {
      throw new LockTimeoutException(
          name(), Duration.ofNanos(engine.time().nanoTime() - patience.since()));
    }
    return null;
  }

  /**
   * Makes what its user gets of a lease. Whatever is thrown between the grant and this method's
   * return gives the lock up.
   *
   * @return null if the lease ended on its way here, which counts as not granted
   */
  <R> @Nullable R hand(LeaseState lease, Function<LeaseState, R> handle) {
    R handed = null;
    try {
      if (lease.isHeld()) {
        handed = handle.apply(lease);
      }
      return handed;
    } finally {
      if (handed == null) {
        var unused = lease.release();
      }
    }
  }
}
