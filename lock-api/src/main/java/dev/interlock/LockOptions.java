package dev.interlock;

import static dev.interlock.internal.Arguments.checkArgument;
import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Options for acquiring and keeping locks. Immutable. Each client has options, and a {@linkplain
 * LockClient#lock(String, java.util.function.Consumer) lock} may change some of them.
 *
 * <pre>{@code
 * LockOptions options =
 *     LockOptions.builder().ttl(Duration.ofSeconds(10)).label("billing-1").build();
 * LockClient client = LockClient.open("redis://localhost:6379", options);
 * }</pre>
 *
 * <p>By default a lease has a TTL of 30 s and is renewed in the background without limit. A single
 * request to the store may take 2 s. {@link DistributedLock#acquire()} waits without limit.
 */
public final class LockOptions {

  private static final LockOptions DEFAULTS = builder().build();

  /** The values; null if not set. */
  private record Options(
      Duration ttl,
      boolean autoRenew,
      @Nullable Duration minHold,
      @Nullable Duration maxHold,
      Duration requestTimeout,
      @Nullable Duration waitTimeout,
      @Nullable Duration outageTimeout,
      @Nullable Duration openTimeout,
      Duration pollInterval,
      @Nullable String label) {}

  private final Options options;

  private LockOptions(Options options) {
    this.options = options;
  }

  /** {@return the defaults} */
  public static LockOptions defaults() {
    return DEFAULTS;
  }

  /** {@return a new builder that has the defaults} */
  public static Builder builder() {
    return new Builder();
  }

  /** {@return a new builder that has these options} */
  public Builder toBuilder() {
    Builder builder = new Builder();
    builder.ttl = options.ttl;
    builder.autoRenew = options.autoRenew;
    builder.minHold = options.minHold;
    builder.maxHold = options.maxHold;
    builder.requestTimeout = options.requestTimeout;
    builder.waitTimeout = options.waitTimeout;
    builder.outageTimeout = options.outageTimeout;
    builder.openTimeout = options.openTimeout;
    builder.pollInterval = options.pollInterval;
    builder.label = options.label;
    return builder;
  }

  /**
   * {@return how long the store keeps a lock without a renewal} Default 30 s. A short TTL frees the
   * locks of dead processes sooner; a long one outlasts longer pauses and outages.
   */
  public Duration ttl() {
    return options.ttl;
  }

  /**
   * {@return whether leases are renewed in the background until released} Default true; otherwise a
   * lease ends at its TTL unless {@link Lease#renew()} is called.
   */
  public boolean autoRenew() {
    return options.autoRenew;
  }

  /**
   * {@return the minimum time for which a lock stays taken, counted from the grant, or empty for no
   * minimum} Default: no minimum. Set it for a scheduled job on several machines whose clocks may
   * differ by more than the job takes, so that the job does not run twice.
   *
   * <p>An earlier release returns {@link ReleaseOutcome#DEFERRED}. With {@link
   * Capability#DEFERRED_RELEASE} it takes one request: the store then keeps the lock for the rest
   * of the time, and frees it. Neither closing the client nor the end of the process changes that.
   *
   * <p>In three cases the client itself keeps the lock, by renewing it until the time has passed:
   * without that capability; until the store confirms the request, which the client repeats; and
   * while other readers of the client have the same grant. {@link LockClient#close(Duration)} then
   * waits for it, and {@link LockClient#close()} frees the lock. If the lock is lost before, the
   * client logs that, and there is no event. If the process dies, the lock is free after the
   * {@linkplain Lease#effectiveTtl() effective TTL}, or on some stores after its session.
   */
  public Optional<Duration> minHold() {
    return Optional.ofNullable(options.minHold);
  }

  /**
   * {@return the maximum time for which a lease may be held, or empty for no limit} It includes
   * renewals, and the time that the machine sleeps. Default: no limit.
   *
   * <p>The client enforces it; the store knows only the TTL. If the client dies or cannot reach the
   * store at that moment, the lock stays taken for up to a TTL after its last renewal.
   */
  public Optional<Duration> maxHold() {
    return Optional.ofNullable(options.maxHold);
  }

  /**
   * {@return how long a single request to the store may take} Default 2 s. A lock cannot change the
   * client's value.
   */
  public Duration requestTimeout() {
    return options.requestTimeout;
  }

  /**
   * {@return how long {@link DistributedLock#acquire()} waits while another holds the lock before
   * it throws {@link LockTimeoutException}, or empty for no limit} Default: no limit.
   */
  public Optional<Duration> waitTimeout() {
    return Optional.ofNullable(options.waitTimeout);
  }

  /**
   * {@return how long the store may be unavailable, without a break, before {@link
   * DistributedLock#acquire()} fails with {@link LockUnavailableException}} Default: the
   * {@linkplain #ttl() TTL}. Acquisitions with a time limit retry until that limit instead. All
   * waiters of a name in one client share an outage; for each of them it counts from its own call
   * on. No request lasts longer than the rest of this time, but each request has at least 250 ms.
   * The time during which the process was stopped does not count.
   */
  public Duration outageTimeout() {
    return options.outageTimeout == null ? options.ttl : options.outageTimeout;
  }

  /**
   * {@return how long opening a client retries while the store is unavailable, or empty for a
   * single attempt} Default: a single attempt. If a service may start before its store, set this to
   * the time that the store may need. A lock cannot change the client's value.
   */
  public Optional<Duration> openTimeout() {
    return Optional.ofNullable(options.openTimeout);
  }

  /**
   * {@return how long a waiter relies on notifications before it asks the store again} Default 1 s.
   * It matters only on stores without a queue, and if a notification was lost.
   */
  public Duration pollInterval() {
    return options.pollInterval;
  }

  /**
   * {@return the label that {@link LockAdmin#inspect} shows for a holder or waiter, or empty for
   * the default} Default: host name, process id and thread name, as {@code host/pid/thread}.
   */
  public Optional<String> label() {
    return Optional.ofNullable(options.label);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof LockOptions that && options.equals(that.options);
  }

  @Override
  public int hashCode() {
    return options.hashCode();
  }

  /** Returns {@code LockOptions[ttl=PT30S, autoRenew=true, ...]}, with null for unset options. */
  @Override
  public String toString() {
    return "Lock" + options;
  }

  /** Builds {@link LockOptions}. Every duration must be positive and at most 365 days. */
  public static final class Builder {

    private static final Duration MAX_DURATION = Duration.ofDays(365);
    private static final int MAX_LABEL_LENGTH = 255;

    private Duration ttl = Duration.ofSeconds(30);
    private boolean autoRenew = true;
    private @Nullable Duration minHold;
    private @Nullable Duration maxHold;
    private Duration requestTimeout = Duration.ofSeconds(2);
    private @Nullable Duration waitTimeout;
    private @Nullable Duration outageTimeout;
    private @Nullable Duration openTimeout;
    private Duration pollInterval = Duration.ofSeconds(1);
    private @Nullable String label;

    private Builder() {}

    /**
     * Sets {@link LockOptions#ttl()}.
     *
     * @param ttl at least 1 ms
     * @return this builder
     * @throws IllegalArgumentException if out of range
     */
    @CanIgnoreReturnValue
    public Builder ttl(Duration ttl) {
      this.ttl = checked("ttl", ttl);
      return this;
    }

    /**
     * Sets {@link LockOptions#autoRenew()}.
     *
     * @param autoRenew whether leases are renewed in the background
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder autoRenew(boolean autoRenew) {
      this.autoRenew = autoRenew;
      return this;
    }

    /**
     * Sets {@link LockOptions#minHold()}.
     *
     * @param minHold at least 1 ms, or null for no minimum; at most {@code maxHold}, and without
     *     {@code autoRenew} at most {@code ttl}
     * @return this builder
     * @throws IllegalArgumentException if out of range
     */
    @CanIgnoreReturnValue
    public Builder minHold(@Nullable Duration minHold) {
      this.minHold = minHold == null ? null : checked("minHold", minHold);
      return this;
    }

    /**
     * Sets {@link LockOptions#maxHold()}.
     *
     * @param maxHold at least 1 ms, or null for no limit
     * @return this builder
     * @throws IllegalArgumentException if out of range
     */
    @CanIgnoreReturnValue
    public Builder maxHold(@Nullable Duration maxHold) {
      this.maxHold = maxHold == null ? null : checked("maxHold", maxHold);
      return this;
    }

    /**
     * Sets {@link LockOptions#requestTimeout()}.
     *
     * @param requestTimeout at least 1 ms
     * @return this builder
     * @throws IllegalArgumentException if out of range
     */
    @CanIgnoreReturnValue
    public Builder requestTimeout(Duration requestTimeout) {
      this.requestTimeout = checked("requestTimeout", requestTimeout);
      return this;
    }

    /**
     * Sets {@link LockOptions#waitTimeout()}.
     *
     * @param waitTimeout at least 1 ms, or null for no limit
     * @return this builder
     * @throws IllegalArgumentException if out of range
     */
    @CanIgnoreReturnValue
    public Builder waitTimeout(@Nullable Duration waitTimeout) {
      this.waitTimeout = waitTimeout == null ? null : checked("waitTimeout", waitTimeout);
      return this;
    }

    /**
     * Sets {@link LockOptions#outageTimeout()}.
     *
     * @param outageTimeout at least 1 ms, or null for the TTL
     * @return this builder
     * @throws IllegalArgumentException if out of range
     */
    @CanIgnoreReturnValue
    public Builder outageTimeout(@Nullable Duration outageTimeout) {
      this.outageTimeout = outageTimeout == null ? null : checked("outageTimeout", outageTimeout);
      return this;
    }

    /**
     * Sets {@link LockOptions#openTimeout()}.
     *
     * @param openTimeout at least 1 ms, or null for a single attempt
     * @return this builder
     * @throws IllegalArgumentException if out of range
     */
    @CanIgnoreReturnValue
    public Builder openTimeout(@Nullable Duration openTimeout) {
      this.openTimeout = openTimeout == null ? null : checked("openTimeout", openTimeout);
      return this;
    }

    /**
     * Sets {@link LockOptions#pollInterval()}.
     *
     * @param pollInterval at least 1 ms
     * @return this builder
     * @throws IllegalArgumentException if out of range
     */
    @CanIgnoreReturnValue
    public Builder pollInterval(Duration pollInterval) {
      this.pollInterval = checked("pollInterval", pollInterval);
      return this;
    }

    /**
     * Sets {@link LockOptions#label()}.
     *
     * @param label 1 to 255 characters without control characters, or null for the default
     * @return this builder
     * @throws IllegalArgumentException if empty, too long, or with control characters
     */
    @CanIgnoreReturnValue
    public Builder label(@Nullable String label) {
      if (label != null) {
        checkArgument(
            !label.isEmpty() && label.length() <= MAX_LABEL_LENGTH,
            "label must have 1 to %s characters, not %s",
            MAX_LABEL_LENGTH,
            label.length());
        checkArgument(
            label.chars().noneMatch(Character::isISOControl),
            "label must not contain control characters");
      }
      this.label = label;
      return this;
    }

    /**
     * {@return the options}
     *
     * @throws IllegalArgumentException if {@code minHold} is longer than {@code maxHold}, or than
     *     the {@code ttl} of a lease that is not renewed
     */
    public LockOptions build() {
      if (minHold != null) {
        checkArgument(
            maxHold == null || minHold.compareTo(maxHold) <= 0,
            "minHold must be at most maxHold, which is %s, not %s",
            maxHold,
            minHold);
        checkArgument(
            autoRenew || minHold.compareTo(ttl) <= 0,
            "without autoRenew, minHold must be at most the ttl, which is %s, not %s",
            ttl,
            minHold);
      }
      return new LockOptions(
          new Options(
              ttl,
              autoRenew,
              minHold,
              maxHold,
              requestTimeout,
              waitTimeout,
              outageTimeout,
              openTimeout,
              pollInterval,
              label));
    }

    private static Duration checked(String what, Duration value) {
      requireNonNull(value, what);
      checkArgument(
          value.compareTo(Duration.ofMillis(1)) >= 0 && value.compareTo(MAX_DURATION) <= 0,
          "%s must be between 1 ms and 365 days, not %s",
          what,
          value);
      return value;
    }
  }
}
