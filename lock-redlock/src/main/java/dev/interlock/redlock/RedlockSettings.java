package dev.interlock.redlock;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.interlock.LockConfigurationException;
import dev.interlock.redis.RedisSettings;
import java.time.Duration;

/**
 * How locks are kept on a majority of nodes. Immutable. Clients that share locks must share the
 * namespace, and {@link #maxTtl()}, which the nodes remember and hold all clients to.
 *
 * <p>By default keys begin with {@code interlock:}, a node may take a second to answer, clocks may
 * drift by a hundredth of the TTL, and a node that comes back after a restart does not vote for one
 * minute, which is also the longest TTL.
 */
public final class RedlockSettings {

  private static final RedlockSettings DEFAULTS = builder().build();

  private final RedisSettings redis;
  private final Duration nodeTimeout;
  private final Duration maxTtl;
  private final double drift;
  private final boolean durable;
  private final boolean force;

  private RedlockSettings(Builder builder) {
    this.redis = builder.redis.build();
    this.nodeTimeout = builder.nodeTimeout;
    this.maxTtl = builder.maxTtl;
    this.drift = builder.drift;
    this.durable = builder.durable;
    this.force = builder.force;
  }

  /** {@return the defaults} */
  public static RedlockSettings defaults() {
    return DEFAULTS;
  }

  /**
   * Starts from the defaults.
   *
   * @return a new builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * What every key and channel begins with, before a colon. Default {@code interlock}.
   *
   * @return the namespace
   */
  public String namespace() {
    return redis.namespace();
  }

  /**
   * For how long a node remembers the last fence of a name after the end of its last lease. Default
   * 1 hour. It may be short: after that the node goes on from its floor, the highest fence of all
   * names, which never expires; only the first acquisition of the name may then take a round trip
   * more.
   *
   * @return the retention
   */
  public Duration fenceRetention() {
    return redis.fenceRetention();
  }

  /**
   * For how long a node is waited for. Default 1 s. A majority that answers never waits for the
   * others, but for a tenth of this time when a client comes back after a {@code maxTtl} without a
   * request or a majority; so this matters when many nodes are slow: shorter, and slow nodes count
   * as dead; longer, and an attempt that cannot succeed takes longer to say so.
   *
   * @return the time-out
   */
  public Duration nodeTimeout() {
    return nodeTimeout;
  }

  /**
   * The longest TTL that may be asked for, and for how long a node that may have forgotten locks
   * does not vote. Default 1 minute. Longer, and a restarted node is out for longer; shorter, and
   * locks of crashed processes cannot be kept for longer. The nodes remember it: to change it, stop
   * all clients, wait for the old one to pass, and set the field {@code longest} of the hash {@code
   * interlock:redlock} on every node.
   *
   * @return the longest TTL
   */
  public Duration maxTtl() {
    return maxTtl;
  }

  /**
   * By which part of the TTL the clocks of nodes and client may differ in speed. Default 0.01. Each
   * lease is shorter by that; what is larger costs validity, what is smaller trusts the clocks
   * more.
   *
   * @return the part, from 0 to 0.5
   */
  public double drift() {
    return drift;
  }

  /**
   * Whether every node writes each change to its disk before it answers ({@code appendonly yes},
   * {@code appendfsync always}). Default false. If so, a node that was restarted votes at once; if
   * that is said of nodes that do not, a restart may let a second holder in.
   *
   * @return whether they do
   */
  public boolean durable() {
    return durable;
  }

  /**
   * Whether a number of nodes that makes no sense is accepted. Default false. An even number needs
   * as many nodes for a majority as the next odd one and survives no more; with fewer than 3 the
   * loss of one ends all.
   *
   * @return whether it is
   */
  public boolean force() {
    return force;
  }

  @Override
  public String toString() {
    return ("RedlockSettings[namespace=%s, fenceRetention=%s, nodeTimeout=%s, maxTtl=%s, drift=%s,"
            + " durable=%s]")
        .formatted(namespace(), fenceRetention(), nodeTimeout, maxTtl, drift, durable);
  }

  /** Builds {@link RedlockSettings}. */
  public static final class Builder {
    private final RedisSettings.Builder redis = RedisSettings.builder();
    private Duration nodeTimeout = Duration.ofSeconds(1);
    private Duration maxTtl = Duration.ofMinutes(1);
    private double drift = 0.01;
    private boolean durable;
    private boolean force;

    private Builder() {}

    /**
     * Sets {@link RedlockSettings#namespace()}.
     *
     * @param namespace 1 to 100 ASCII letters, digits, and {@code . _ : / -}
     * @return this builder
     * @throws LockConfigurationException if it is anything else
     */
    @CanIgnoreReturnValue
    public Builder namespace(String namespace) {
      redis.namespace(namespace);
      return this;
    }

    /**
     * Sets {@link RedlockSettings#fenceRetention()}.
     *
     * @param retention as for {@link RedisSettings.Builder#fenceRetention}
     * @return this builder
     * @throws LockConfigurationException if it is out of range
     */
    @CanIgnoreReturnValue
    public Builder fenceRetention(Duration retention) {
      redis.fenceRetention(retention);
      return this;
    }

    /**
     * Sets {@link RedlockSettings#nodeTimeout()}.
     *
     * @param timeout from 1 ms to 1 minute
     * @return this builder
     * @throws LockConfigurationException if it is out of range
     */
    @CanIgnoreReturnValue
    public Builder nodeTimeout(Duration timeout) {
      requireWithin("nodeTimeout", timeout, Duration.ofMillis(1), Duration.ofMinutes(1));
      this.nodeTimeout = timeout;
      return this;
    }

    /**
     * Sets {@link RedlockSettings#maxTtl()}.
     *
     * @param maxTtl from 100 ms to 1 day, in whole milliseconds
     * @return this builder
     * @throws LockConfigurationException if it is out of range
     */
    @CanIgnoreReturnValue
    public Builder maxTtl(Duration maxTtl) {
      requireWithin("maxTtl", maxTtl, Duration.ofMillis(100), Duration.ofDays(1));
      this.maxTtl = maxTtl;
      return this;
    }

    /**
     * Sets {@link RedlockSettings#drift()}.
     *
     * @param drift from 0 to 0.5
     * @return this builder
     * @throws LockConfigurationException if it is out of range
     */
    @CanIgnoreReturnValue
    public Builder drift(double drift) {
      if (!(drift >= 0 && drift <= 0.5)) {
        throw new LockConfigurationException(
            "drift must be a part of the TTL from 0 to 0.5, such as 0.01, not " + drift);
      }
      this.drift = drift;
      return this;
    }

    /**
     * Sets {@link RedlockSettings#durable()}.
     *
     * @param durable whether nodes forget nothing
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder durable(boolean durable) {
      this.durable = durable;
      return this;
    }

    /**
     * Sets {@link RedlockSettings#force()}.
     *
     * @param force whether any number of nodes will do
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder force(boolean force) {
      this.force = force;
      return this;
    }

    private static void requireWithin(String name, Duration value, Duration least, Duration most) {
      if (value.compareTo(least) < 0 || value.compareTo(most) > 0) {
        throw new LockConfigurationException(
            name + " must be from " + least + " to " + most + ", not " + value);
      }
    }

    /** {@return the settings} */
    public RedlockSettings build() {
      return new RedlockSettings(this);
    }
  }
}
