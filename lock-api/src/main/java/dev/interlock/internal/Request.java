package dev.interlock.internal;

import static dev.interlock.internal.Arguments.checkArgument;
import static java.util.Objects.requireNonNull;

import dev.interlock.LockOptions;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Share;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition: what to acquire, how long to wait, and what happens after that time.
 *
 * @param name the lock's name, or the names of a set
 * @param share the share of the name to acquire
 * @param options the options of the acquisition and of the lease
 * @param label the label for {@code inspect}
 * @param owner the thread that owns the hold, if any; the hold is abandoned when it ends
 * @param isMember whether it is a member of a set; a member is renewed until the set is complete,
 *     whatever the options say
 * @param startedAt the time at which the call began
 * @param maxWait the maximum time to wait
 * @param mustAcquire whether ending without a lease is an exception
 * @param minRequestTime the minimum time for a request to the store, even if the deadline is nearer
 * @param acquisition the events reported to listeners
 */
record Request(
    Engine engine,
    String name,
    Share share,
    LockOptions options,
    String label,
    @Nullable Thread owner,
    boolean isMember,
    long startedAt,
    Duration maxWait,
    boolean mustAcquire,
    Duration minRequestTime,
    Acquisition acquisition) {

  /** A healthy store answers within this time, even from another continent. */
  private static final Duration MIN_REQUEST_TIME = Duration.ofMillis(250);

  private static final Duration UNLIMITED = Duration.ofDays(36_500);

  /** Creates the request of {@code acquire()}. */
  static Request forAcquire(
      Engine engine, String name, Share share, LockOptions options, @Nullable Thread owner) {
    Duration wait = options.waitTimeout().orElse(UNLIMITED);
    return create(engine, name, share, options, owner, wait, true);
  }

  /**
   * Creates the request of {@code tryAcquire(timeout)}, during which the store may fail for as long
   * as there is time. The one request of {@code tryAcquire()} has no time to wait, and the full
   * request time-out.
   */
  static Request forTryAcquire(
      Engine engine,
      String name,
      Share share,
      LockOptions options,
      @Nullable Thread owner,
      Duration timeout) {
    requireNonNull(timeout, "timeout");
    checkArgument(!timeout.isNegative(), "the time to wait must not be negative: %s", timeout);
    return create(engine, name, share, options, owner, timeout, false);
  }

  private static Request create(
      Engine engine,
      String name,
      Share share,
      LockOptions options,
      @Nullable Thread owner,
      Duration wait,
      boolean mustAcquire) {
    return new Request(
        engine,
        name,
        share,
        options,
        options.label().orElseGet(Labels::ofCurrentThread),
        owner,
        false,
        engine.platform.nanoTime(),
        wait.compareTo(UNLIMITED) < 0 ? wait : UNLIMITED,
        mustAcquire,
        wait.isZero() && !mustAcquire ? engine.requestTimeout() : MIN_REQUEST_TIME,
        new Acquisition(null));
  }

  private Request copy(String newName, boolean newIsMember, Acquisition newAcquisition) {
    return new Request(
        engine,
        newName,
        share,
        options,
        label,
        owner,
        newIsMember,
        startedAt,
        maxWait,
        mustAcquire,
        minRequestTime,
        newAcquisition);
  }

  /** Returns the request of another try, which listeners see as another acquisition. */
  Request forRetry() {
    return copy(name, isMember, acquisition.forRetry());
  }

  /** Returns the request of a member of the set, which has the time of the set. */
  Request member(String member) {
    return copy(member, true, new Acquisition(acquisition));
  }

  /**
   * Returns the request of a single attempt before the acquisition waits. The attempt has as much
   * time as the next request of the acquisition would.
   */
  Request forSingleAttempt() {
    long now = engine.platform.nanoTime();
    Duration time = Duration.ofNanos(Math.min(engine.requestTimeout().toNanos(), remaining(now)));
    Duration waited = Duration.ofNanos(now - startedAt);
    return new Request(
        engine,
        name,
        share,
        options,
        label,
        owner,
        isMember,
        startedAt,
        waited,
        false,
        time,
        acquisition);
  }

  /** The time for which the store may fail without a break. */
  Duration outageTimeout() {
    return mustAcquire ? options.outageTimeout() : UNLIMITED;
  }

  /** Whether a time-out is an exception for this request. */
  boolean throwsOnTimeout() {
    return mustAcquire && !isMember;
  }

  private long deadlineNanos() {
    return startedAt + maxWait.toNanos();
  }

  boolean isOver() {
    return deadlineNanos() - engine.platform.nanoTime() <= 0;
  }

  Deadline deadline() {
    return Deadline.at(engine.platform, deadlineNanos());
  }

  /** The end of a request that is sent at the deadline. */
  Deadline lastDeadline() {
    return Deadline.at(engine.platform, deadlineNanos() + minRequestTime.toNanos());
  }

  /**
   * Returns the deadline of a request to the store that is sent now: it gets no more time than its
   * caller has, unless that is too little for any store.
   */
  Deadline storeDeadline(Duration requestTimeout) {
    return storeDeadline(requestTimeout.toNanos(), engine.platform.nanoTime());
  }

  private Deadline storeDeadline(long maxNanos, long now) {
    return Deadline.at(engine.platform, now + Math.min(maxNanos, remaining(now)));
  }

  /**
   * Returns the deadline of a request during an outage, whose time-out may pass earlier.
   *
   * @param outageRemaining the nanoseconds until the outage time-out
   * @param now the time at which the request is sent
   */
  Deadline storeDeadline(Duration requestTimeout, long outageRemaining, long now) {
    long maxNanos = Math.max(outageRemaining, MIN_REQUEST_TIME.toNanos());
    return storeDeadline(Math.min(requestTimeout.toNanos(), maxNanos), now);
  }

  /** Returns the deadline of a wait for a thread that asks the store. */
  Deadline threadDeadline() {
    long now = engine.platform.nanoTime();
    return Deadline.at(engine.platform, now + remaining(now));
  }

  private long remaining(long now) {
    long minNanos = minRequestTime.toNanos();
    long deadline = deadlineNanos();
    return Math.min(Math.max(minNanos, deadline - now), deadline + minNanos - now);
  }

  /**
   * Whether it stays out of the local queue, because it neither waits nor excludes other requests
   * of this client.
   */
  boolean bypassesQueue() {
    return !share.isWhole() && maxWait.isZero();
  }
}
