package dev.interlock.redis;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.interlock.LockConfigurationException;
import java.time.Duration;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Settings for locks on Redis. Immutable. Clients that share locks must have the same settings.
 *
 * <p>By default keys begin with {@code interlock:}, the last fencing token of a name is remembered
 * for an hour after its last lease, and no replica is waited for.
 */
public final class RedisSettings {

  private static final RedisSettings DEFAULTS = builder().build();

  private final String namespace;
  private final Duration fenceRetention;
  private final int waitReplicas;

  private RedisSettings(Builder builder) {
    this.namespace = builder.namespace;
    this.fenceRetention = builder.fenceRetention;
    this.waitReplicas = builder.waitReplicas;
  }

  /** {@return the defaults} */
  public static RedisSettings defaults() {
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
   * Returns the prefix of every key and channel, before a colon. Default {@code interlock}. Locks
   * of different namespaces are independent.
   *
   * @return the namespace
   */
  public String namespace() {
    return namespace;
  }

  /**
   * Returns the time for which the server remembers the last fencing token of a name after the end
   * of its last lease. Default 1 hour. During that time, and while the lock is held, tokens rise
   * wherever the server's clock is set. Later they rise because they are no lower than the clock.
   * So a forgotten token is never repeated unless the clock is set back by more than this time.
   *
   * @return the retention
   */
  public Duration fenceRetention() {
    return fenceRetention;
  }

  /**
   * Returns the number of replicas that must confirm a grant or a renewal before it counts, by the
   * {@code WAIT} command. Default 0. A higher number costs one more round trip, and makes it less
   * likely that a fail-over loses a lock. It does not exclude that, because Redis may promote a
   * replica that has not confirmed.
   *
   * @return the number of replicas
   */
  public int waitReplicas() {
    return waitReplicas;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof RedisSettings that
        && namespace.equals(that.namespace)
        && fenceRetention.equals(that.fenceRetention)
        && waitReplicas == that.waitReplicas;
  }

  @Override
  public int hashCode() {
    return Objects.hash(namespace, fenceRetention, waitReplicas);
  }

  @Override
  public String toString() {
    return "RedisSettings[namespace=%s, fenceRetention=%s, waitReplicas=%d]"
        .formatted(namespace, fenceRetention, waitReplicas);
  }

  /** Builds {@link RedisSettings}. */
  public static final class Builder {

    private static final Pattern NAMESPACE = Pattern.compile("[A-Za-z0-9._:/-]{1,100}");
    private static final Duration MIN_FENCE_RETENTION = Duration.ofSeconds(1);
    private static final Duration MAX_FENCE_RETENTION = Duration.ofDays(3650);

    private String namespace = "interlock";
    private Duration fenceRetention = Duration.ofHours(1);
    private int waitReplicas;

    private Builder() {}

    /**
     * Sets {@link RedisSettings#namespace()}.
     *
     * @param namespace 1 to 100 ASCII letters, digits, and {@code . _ : / -}
     * @return this builder
     * @throws LockConfigurationException if it is anything else
     */
    @CanIgnoreReturnValue
    public Builder namespace(String namespace) {
      if (!NAMESPACE.matcher(namespace).matches()) {
        throw new LockConfigurationException(
            "namespace must be 1 to 100 ASCII letters, digits, and any of . _ : / - , not \""
                + namespace
                + "\"");
      }
      this.namespace = namespace;
      return this;
    }

    /**
     * Sets {@link RedisSettings#fenceRetention()}.
     *
     * @param fenceRetention 1 second to 10 years; longer than the clock of a server, or of a
     *     replica that takes over, may ever be set back
     * @return this builder
     * @throws LockConfigurationException if it is out of range
     */
    @CanIgnoreReturnValue
    public Builder fenceRetention(Duration fenceRetention) {
      if (fenceRetention.compareTo(MIN_FENCE_RETENTION) < 0
          || fenceRetention.compareTo(MAX_FENCE_RETENTION) > 0) {
        throw new LockConfigurationException(
            "fenceRetention must be between 1 s and 3650 days, not " + fenceRetention);
      }
      this.fenceRetention = fenceRetention;
      return this;
    }

    /**
     * Sets {@link RedisSettings#waitReplicas()}.
     *
     * @param waitReplicas 0 to 100
     * @return this builder
     * @throws LockConfigurationException if it is out of range
     */
    @CanIgnoreReturnValue
    public Builder waitReplicas(int waitReplicas) {
      if (waitReplicas < 0 || waitReplicas > 100) {
        throw new LockConfigurationException(
            "waitReplicas must be between 0 and 100, not " + waitReplicas);
      }
      this.waitReplicas = waitReplicas;
      return this;
    }

    /** {@return the settings} */
    public RedisSettings build() {
      return new RedisSettings(this);
    }
  }
}
