package dev.interlock.internal;

import static dev.interlock.internal.Arguments.checkArgument;
import static java.util.Objects.requireNonNull;

import dev.interlock.LockOptions;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Share;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One call that acquires: what it asks for, how long it waits, and what happens after that time.
 *
 * @param name the lock's name, or those of a set
 * @param share how much of the name it asks for
 * @param options how to acquire and keep it
 * @param holder the label for {@code inspect}
 * @param owner the thread with whose end the hold is abandoned, if the hold belongs to a thread
 * @param ofSet whether it is a member of a set, which is renewed until that is complete, whatever
 *     the options say
 * @param since when the call began
 * @param maxWait how long it waits
 * @param insists whether ending with nothing is an exception
 * @param minPerRequest the least time of a request to the store, even if the end is nearer
 * @param acquisition what is reported to listeners
 */
record Request(
    Engine engine,
    String name,
    Share share,
    LockOptions options,
    String holder,
    @Nullable Thread owner,
    boolean ofSet,
    long since,
    Duration maxWait,
    boolean insists,
    Duration minPerRequest,
    Acquisition acquisition) {

  /** A healthy store answers within this time, even from another continent. */
  private static final Duration MIN_PER_REQUEST = Duration.ofMillis(250);

  private static final Duration FOR_EVER = Duration.ofDays(36_500);

  /** For {@code acquire()}. */
  static Request untilHad(
      Engine engine, String name, Share share, LockOptions options, @Nullable Thread owner) {
    Duration wait = options.waitTimeout().orElse(FOR_EVER);
    return of(engine, name, share, options, owner, wait, true);
  }

  /**
   * For {@code tryAcquire(timeout)}: the store may fail for as long as there is time. {@code
   * tryAcquire()} has no time, and its one request has the full request time-out.
   */
  static Request upTo(
      Engine engine,
      String name,
      Share share,
      LockOptions options,
      @Nullable Thread owner,
      Duration timeout) {
    requireNonNull(timeout, "timeout");
    checkArgument(!timeout.isNegative(), "the time to wait must not be negative: %s", timeout);
    return of(engine, name, share, options, owner, timeout, false);
  }

  private static Request of(
      Engine engine,
      String name,
      Share share,
      LockOptions options,
      @Nullable Thread owner,
      Duration wait,
      boolean insists) {
    return new Request(
        engine,
        name,
        share,
        options,
        options.label().orElseGet(Labels::ofCurrentThread),
        owner,
        false,
        engine.platform.nanoTime(),
        wait.compareTo(FOR_EVER) < 0 ? wait : FOR_EVER,
        insists,
        wait.isZero() && !insists ? engine.requestTimeout() : MIN_PER_REQUEST,
        new Acquisition(null));
  }

  private Request copy(String otherName, boolean ofOtherSet, Acquisition other) {
    return new Request(
        engine,
        otherName,
        share,
        options,
        holder,
        owner,
        ofOtherSet,
        since,
        maxWait,
        insists,
        minPerRequest,
        other);
  }

  /** For another try, which is reported to listeners as another acquisition. */
  Request again() {
    return copy(name, ofSet, acquisition.again());
  }

  /** For the next member of a set, which has the set's time. */
  Request member(String member) {
    return copy(member, true, new Acquisition(acquisition));
  }

  /**
   * For a single attempt before an acquisition waits. It gets as much time as the acquisition's
   * next request would.
   */
  Request once() {
    long now = engine.platform.nanoTime();
    Duration time = Duration.ofNanos(Math.min(engine.requestTimeout().toNanos(), left(now)));
    Duration none = Duration.ofNanos(now - since);
    return new Request(
        engine, name, share, options, holder, owner, ofSet, since, none, false, time, acquisition);
  }

  /** How long the store may be unavailable without a break. */
  Duration withoutStore() {
    return insists ? options.outageTimeout() : FOR_EVER;
  }

  /** Whether giving up is an exception. */
  boolean timeoutIsFailure() {
    return insists && !ofSet;
  }

  /** When to give up waiting. */
  private long until() {
    return since + maxWait.toNanos();
  }

  boolean isOver() {
    return until() - engine.platform.nanoTime() <= 0;
  }

  Deadline deadline() {
    return Deadline.at(engine.platform, until());
  }

  /** When a request that was sent at the deadline has timed out. */
  Deadline end() {
    return Deadline.at(engine.platform, until() + minPerRequest.toNanos());
  }

  /**
   * When to give up a request to the store that is sent now: it gets no more time than its caller
   * has, unless that is too little for any store.
   */
  Deadline forStore(Duration requestTimeout) {
    return forStore(requestTimeout.toNanos(), engine.platform.nanoTime());
  }

  private Deadline forStore(long most, long now) {
    return Deadline.at(engine.platform, now + Math.min(most, left(now)));
  }

  /**
   * When to give up a request for a caller whose patience with the store may end earlier.
   *
   * @param patience for how much longer the store may fail, in nanoseconds
   * @param now when it is sent
   */
  Deadline forStore(Duration requestTimeout, long patience, long now) {
    long most = Math.max(patience, MIN_PER_REQUEST.toNanos());
    return forStore(Math.min(requestTimeout.toNanos(), most), now);
  }

  /** When to give up waiting for a thread that asks the store. */
  Deadline forThread() {
    long now = engine.platform.nanoTime();
    return Deadline.at(engine.platform, now + left(now));
  }

  private long left(long now) {
    long least = minPerRequest.toNanos();
    long until = until();
    return Math.min(Math.max(least, until - now), until + least - now);
  }

  /**
   * Whether it does not wait and does not exclude other requests of this client, so that it stays
   * out of the local queue.
   */
  boolean asksOnce() {
    return !share.isWhole() && maxWait.isZero();
  }
}
