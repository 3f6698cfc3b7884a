package dev.interlock.redlock;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.interlock.LockConfigurationException;
import dev.interlock.redis.RedisSettings;
import java.time.Duration;

/**
 * Settings for locks on a majority of nodes. Immutable. Clients that share locks must have the same
 * namespace, and the same {@link #maxTtl()}, which the nodes remember and require of all clients.
 *
 * <p>By default keys begin with {@code interlock:}, a node may take a second to answer, clocks may
 * drift by a hundredth of the TTL, and a restarted node does not vote for one minute, which is also
 * the longest TTL.
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
   * Returns the prefix of every key and channel, before a colon. Default {@code interlock}.
   *
   * @return the namespace
   */
  public String namespace() {
    return redis.namespace();
  }

  /**
   * Returns the time for which a node remembers the last fence of a name after the end of its last
   * lease. Default 1 hour. It may be short. Afterwards the node goes on from its floor, the highest
   * fence of all names, which never expires; only the next acquisition of the name may take one
   * more round trip.
   *
   * @return the retention
   */
  public Duration fenceRetention() {
    return redis.fenceRetention();
  }

  /**
   * Returns the time-out of a node. Default 1 s. When a majority has answered, a request does not
   * wait for the other nodes. The exception is a client that was idle, or reached no majority, for
   * a {@code maxTtl}: it waits for a tenth of this time. So the time-out matters when many nodes
   * are slow. If it is shorter, slow nodes count as dead; if it is longer, an attempt that cannot
   * succeed takes longer to fail.
   *
   * @return the time-out
   */
  public Duration nodeTimeout() {
    return nodeTimeout;
  }

  /**
   * Returns the longest TTL that clients may ask for. A node that may have forgotten locks does not
   * vote for this time. Default 1 minute. If it is longer, a restarted node is missing for longer;
   * if it is shorter, the locks of crashed processes cannot be kept for longer. The nodes remember
   * it. To change it, stop all clients, wait for as long as the old value says, and set the field
   * {@code longest} of the hash {@code interlock:redlock} on every node.
   *
   * @return the longest TTL
   */
  public Duration maxTtl() {
    return maxTtl;
  }

  /**
   * Returns the part of the TTL by which the clocks of nodes and client may differ in speed.
   * Default 0.01. Each lease is shorter than its TTL by this part. A larger value costs validity, a
   * smaller value trusts the clocks more.
   *
   * @return the part, from 0 to 0.5
   */
  public double drift() {
    return drift;
  }

  /**
   * Returns whether every node writes each change to its disk before it answers ({@code appendonly
   * yes}, {@code appendfsync always}). Default false. If true, a restarted node votes at once. If
   * true although nodes do not write each change, a restart may let a second holder in.
   *
   * @return whether nodes are durable
   */
  public boolean durable() {
    return durable;
  }

  /**
   * Returns whether any number of nodes is accepted. Default false: fewer than 3 nodes, or an even
   * number, are refused. An even number of nodes survives no more failures than one node less.
   * Fewer than 3 nodes do not survive the loss of one.
   *
   * @return whether any number is accepted
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
     * @param durable whether nodes write each change to disk before they answer
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
     * @param force whether any number of nodes is accepted
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder force(boolean force) {
      this.force = force;
      return this;
    }

    private static void requireWithin(String name, Duration value, Duration min, Duration max) {
      if (value.compareTo(min) < 0 || value.compareTo(max) > 0) {
        throw new LockConfigurationException(
            name + " must be from " + min + " to " + max + ", not " + value);
      }
    }

    /** {@return the settings} */
    public RedlockSettings build() {
      return new RedlockSettings(this);
    }
  }
}
