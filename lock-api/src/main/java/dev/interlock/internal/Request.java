package dev.interlock.internal;

import dev.interlock.LockOptions;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One call that acquires: what it asks for, how long it waits, and what happens after that time.
 *
 * @param time the clock that it waits by
 * @param name the lock's name, or those of a set
 * @param share how much of the name it asks for
 * @param options how to acquire and keep it
 * @param holder the label for {@code inspect}
 * @param owner the thread with whose end the hold is abandoned, if the hold belongs to a thread
 * @param ofSet whether it is a member of a set, which is renewed until that is complete, whatever
 *     the options say
 * @param since when the call began
 * @param until when to give up waiting
 * @param withoutStore how long the store may be unavailable without a break
 * @param timeoutIsFailure whether giving up is an exception
 * @param leastPerRequest the least time of a request to the store, even if the end is nearer
 * @param acquisition what is reported to listeners
 */
record Request(
    TimeSource time,
    String name,
    Share share,
    LockOptions options,
    String holder,
    @Nullable Thread owner,
    boolean ofSet,
    long since,
    long until,
    Duration withoutStore,
    boolean timeoutIsFailure,
    Duration leastPerRequest,
    Acquisition acquisition) {

  /** A healthy store answers within this time, even from another continent. */
  private static final Duration LEAST_PER_REQUEST = Duration.ofMillis(250);

  private static final Duration FOR_EVER = Duration.ofDays(36_500);

  /** For {@code acquire()}. */
  static Request untilHad(
      DefaultLockClient engine,
      String name,
      Share share,
      LockOptions options,
      @Nullable Thread owner) {
    TimeSource time = engine.platform;
    Duration wait = options.waitTimeout().orElse(FOR_EVER);
    Duration withoutStore = options.outageTimeout();
    return of(time, name, share, options, owner, wait, withoutStore, true, LEAST_PER_REQUEST);
  }

  /**
   * For {@code tryAcquire(timeout)}: the store may fail for as long as there is time. {@code
   * tryAcquire()} has no time, and its one request has the full request time-out.
   */
  static Request upTo(
      DefaultLockClient engine,
      String name,
      Share share,
      LockOptions options,
      @Nullable Thread owner,
      Duration timeout) {
    Duration least = timeout.isZero() ? engine.requestTimeout() : LEAST_PER_REQUEST;
    return of(engine.platform, name, share, options, owner, timeout, FOR_EVER, false, least);
  }

  private static Request of(
      TimeSource time,
      String name,
      Share share,
      LockOptions options,
      @Nullable Thread owner,
      Duration wait,
      Duration withoutStore,
      boolean timeoutIsFailure,
      Duration leastPerRequest) {
    String holder = options.holder().orElseGet(Labels::ofCurrentThread);
    long now = time.nanoTime();
    long until = now + (wait.compareTo(FOR_EVER) < 0 ? wait : FOR_EVER).toNanos();
    return new Request(
        time,
        name,
        share,
        options,
        holder,
        owner,
        false,
        now,
        until,
        withoutStore,
        timeoutIsFailure,
        leastPerRequest,
        new Acquisition(null));
  }

  /** For another try, which is reported to listeners as another acquisition. */
  Request again() {
    return copy(name, options, owner, ofSet, timeoutIsFailure, new Acquisition(null));
  }

  /**
   * For a single attempt before an acquisition waits. It gets as much time as the acquisition's
   * next request would.
   */
  Request once(Duration requestTimeout) {
    long now = time.nanoTime();
    return new Request(
        time,
        name,
        share,
        options,
        holder,
        owner,
        ofSet,
        since,
        now,
        withoutStore,
        false,
        Duration.ofNanos(Math.min(requestTimeout.toNanos(), left(now))),
        acquisition);
  }

  /** For the next member of a set, which has the set's time. */
  Request member(String member) {
    return copy(member, options, owner, true, false, new Acquisition(acquisition));
  }

  /** For a lock that the client keeps after a release until the minimum hold has passed. */
  Request kept() {
    LockOptions unlimited = options.toBuilder().minHold(null).maxHold(null).build();
    return copy(name, unlimited, null, false, false, acquisition);
  }

  private Request copy(
      String otherName,
      LockOptions otherOptions,
      @Nullable Thread otherOwner,
      boolean ofOtherSet,
      boolean isFailure,
      Acquisition otherAcquisition) {
    return new Request(
        time,
        otherName,
        share,
        otherOptions,
        holder,
        otherOwner,
        ofOtherSet,
        since,
        until,
        withoutStore,
        isFailure,
        leastPerRequest,
        otherAcquisition);
  }

  Deadline deadline() {
    return Deadline.at(time, until);
  }

  /** When a request that was sent at the deadline has timed out. */
  Deadline end() {
    return Deadline.at(time, until + leastPerRequest.toNanos());
  }

  /**
   * When to give up a request to the store that is sent now: it gets no more time than its caller
   * has, unless that is too little for any store.
   */
  Deadline forStore(Duration requestTimeout) {
    long now = time.nanoTime();
    return Deadline.at(time, now + Math.min(requestTimeout.toNanos(), left(now)));
  }

  /** When to give up waiting for a thread that asks the store. */
  Deadline forThread() {
    long now = time.nanoTime();
    return Deadline.at(time, now + left(now));
  }

  private long left(long now) {
    long least = leastPerRequest.toNanos();
    return Math.min(Math.max(least, until - now), until + least - now);
  }

  /**
   * Whether it does not wait and does not exclude other requests of this client, so that it stays
   * out of the local queue.
   */
  boolean asksOnce() {
    return !share.isWhole() && until == since;
  }

  /** Whether a lease of the other request can be handed off to this one, or shared with it. */
  boolean sharesGrantWith(Request other) {
    return share.equals(other.share)
        && options.autoRenew()
        && other.options.autoRenew()
        && options.ttl().equals(other.options.ttl());
  }
}
