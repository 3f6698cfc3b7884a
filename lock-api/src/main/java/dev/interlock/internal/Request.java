package dev.interlock.internal;

import static com.google.common.base.Preconditions.checkArgument;
import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LockOptions;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Share;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One call that acquires: what it asks for, how long it waits, and what happens after that time.
 */
class Request {

  /** A healthy store answers within this time, even from another continent. */
  private static final Duration LEAST_PER_REQUEST = Duration.ofMillis(250);

  private static final Duration FOR_EVER = Duration.ofDays(36_500);

  private final Engine engine;
  private final String name;
  private final Share share;
  private final LockOptions options;
  private final String holder;
  private final @Nullable Thread owner;
  private final boolean ofSet;
  private final long since;
  private final Duration wait;

  /** Whether ending with nothing is an exception. */
  private final boolean insists;

  /** Made for the first report. */
  @GuardedBy("this")
  private @Nullable Acquisition acquisition;

  private Request(
      Engine engine,
      String name,
      Share share,
      LockOptions options,
      String holder,
      @Nullable Thread owner,
      boolean ofSet,
      long since,
      Duration wait,
      boolean insists,
      @Nullable Acquisition acquisition) {
    this.engine = engine;
    this.name = name;
    this.share = share;
    this.options = options;
    this.holder = holder;
    this.owner = owner;
    this.ofSet = ofSet;
    this.since = since;
    this.wait = wait;
    this.insists = insists;
    this.acquisition = acquisition;
  }

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
    return of(engine, name, share, options, owner, timeout, false);
  }

  static Duration checkedTimeout(Duration timeout) {
    requireNonNull(timeout, "timeout");
    checkArgument(!timeout.isNegative(), "the time to wait must not be negative: %s", timeout);
    return timeout;
  }

  private static Request of(
      Engine engine,
      String name,
      Share share,
      LockOptions options,
      @Nullable Thread owner,
      Duration wait,
      boolean insists) {
    String holder = options.holder().orElseGet(Labels::ofCurrentThread);
    long now = engine.platform.nanoTime();
    return new Request(
        engine,
        name,
        share,
        options,
        holder,
        owner,
        false,
        now,
        wait.compareTo(FOR_EVER) < 0 ? wait : FOR_EVER,
        insists,
        null);
  }

  /** For another try, which is reported to listeners as another acquisition. */
  Request again() {
    return copy(name, options, owner, ofSet, null);
  }

  /**
   * For a single attempt before an acquisition waits. It gets as much time as the acquisition's
   * next request would.
   */
  Request once(Duration requestTimeout) {
    long now = engine.platform.nanoTime();
    return new Once(this, now, Math.min(requestTimeout.toNanos(), left(now)));
  }

  private static final class Once extends Request {
    private final long time;

    Once(Request whole, long now, long time) {
      super(
          whole.engine,
          whole.name,
          whole.share,
          whole.options,
          whole.holder,
          whole.owner,
          whole.ofSet,
          whole.since,
          Duration.ofNanos(now - whole.since),
          false,
          whole.acquisition());
      this.time = time;
    }

    @Override
    long leastPerRequest() {
      return time;
    }
  }

  /** For the next member of a set, which has the set's time. */
  Request member(String member) {
    return copy(member, options, owner, true, new Acquisition(acquisition()));
  }

  private Request copy(
      String otherName,
      LockOptions otherOptions,
      @Nullable Thread otherOwner,
      boolean ofOtherSet,
      @Nullable Acquisition otherAcquisition) {
    return new Request(
        engine,
        otherName,
        share,
        otherOptions,
        holder,
        otherOwner,
        ofOtherSet,
        since,
        wait,
        insists,
        otherAcquisition);
  }

  Engine engine() {
    return engine;
  }

  /** The lock's name, or those of a set. */
  String name() {
    return name;
  }

  /** How much of the name it asks for. */
  Share share() {
    return share;
  }

  /** How to acquire and keep it. */
  LockOptions options() {
    return options;
  }

  /** The label for {@code inspect}. */
  String holder() {
    return holder;
  }

  /** The thread with whose end the hold is abandoned, if the hold belongs to a thread. */
  @Nullable Thread owner() {
    return owner;
  }

  /**
   * Whether it is a member of a set, which is renewed until that is complete, whatever the options
   * say.
   */
  boolean ofSet() {
    return ofSet;
  }

  /** When the call began. */
  long since() {
    return since;
  }

  /** How long the store may be unavailable without a break. */
  Duration withoutStore() {
    return insists ? options.outageTimeout() : FOR_EVER;
  }

  /** Whether giving up is an exception. */
  boolean timeoutIsFailure() {
    return insists && !ofSet;
  }

  /** What is reported to listeners. */
  synchronized Acquisition acquisition() {
    if (acquisition == null) {
      acquisition = new Acquisition(null);
    }
    return acquisition;
  }

  /** The label of the lock's holder, as last seen. */
  void heldBy(@Nullable String label) {
    if (label != null) {
      acquisition().heldBy(label);
    }
  }

  synchronized @Nullable String heldBy() {
    return acquisition == null ? null : acquisition.heldBy();
  }

  /** When to give up waiting. */
  private long until() {
    return since + wait.toNanos();
  }

  boolean isOver() {
    return until() - engine.platform.nanoTime() <= 0;
  }

  Deadline deadline() {
    return Deadline.at(engine.platform, until());
  }

  /** When a request that was sent at the deadline has timed out. */
  Deadline end() {
    return Deadline.at(engine.platform, until() + leastPerRequest());
  }

  /**
   * When to give up a request to the store that is sent now: it gets no more time than its caller
   * has, unless that is too little for any store.
   */
  Deadline forStore(Duration requestTimeout) {
    long now = engine.platform.nanoTime();
    return Deadline.at(engine.platform, now + Math.min(requestTimeout.toNanos(), left(now)));
  }

  /**
   * The same for a caller whose patience with the store may end earlier.
   *
   * @param patience for how much longer the store may fail, in nanoseconds
   */
  Deadline forStore(Duration requestTimeout, long patience) {
    return forStore(
        Duration.ofNanos(
            Math.min(requestTimeout.toNanos(), Math.max(patience, LEAST_PER_REQUEST.toNanos()))));
  }

  /** When to give up waiting for a thread that asks the store. */
  Deadline forThread() {
    long now = engine.platform.nanoTime();
    return Deadline.at(engine.platform, now + left(now));
  }

  private long left(long now) {
    long least = leastPerRequest();
    long until = until();
    return Math.min(Math.max(least, until - now), until + least - now);
  }

  /** The least time of a request to the store, even if the end is nearer. */
  long leastPerRequest() {
    return (wait.isZero() && !insists ? engine.requestTimeout() : LEAST_PER_REQUEST).toNanos();
  }

  /**
   * Whether it does not wait and does not exclude other requests of this client, so that it stays
   * out of the local queue.
   */
  boolean asksOnce() {
    return !share.isWhole() && wait.isZero();
  }

  /** Whether a lease of the other request can be handed off to this one, or shared with it. */
  boolean sharesGrantWith(Request other) {
    return share.equals(other.share)
        && options.autoRenew()
        && other.options.autoRenew()
        && options.ttl().equals(other.options.ttl());
  }
}
