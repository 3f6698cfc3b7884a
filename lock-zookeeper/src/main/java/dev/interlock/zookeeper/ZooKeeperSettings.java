package dev.interlock.zookeeper;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.interlock.LockConfigurationException;
import java.time.Duration;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Settings for the storage of locks on ZooKeeper. Immutable. Clients that share locks must use the
 * same namespace.
 *
 * <p>By default locks are stored below the node {@code /interlock}. The servers' {@code tickTime}
 * is assumed to be at most 3 s, and at most half of the shortest session time-out that they grant.
 */
public final class ZooKeeperSettings {

  private static final int TICKS_PER_SESSION = 4;

  /** The tickTime of ZooKeeper's sample configuration. */
  private static final Duration DEFAULT_TICK = Duration.ofSeconds(2);

  /** A shorter session leaves too little validity for a client that is slow for a moment. */
  private static final Duration MIN_SESSION_TIMEOUT = Duration.ofSeconds(3);

  private static final ZooKeeperSettings DEFAULTS = builder().build();

  private final String namespace;
  private final @Nullable Duration tickTime;

  private ZooKeeperSettings(Builder builder) {
    this.namespace = builder.namespace;
    this.tickTime = builder.tickTime;
  }

  /** {@return the default settings} */
  public static ZooKeeperSettings defaults() {
    return DEFAULTS;
  }

  /** {@return a new builder with the default settings} */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * {@return the node below which the locks are stored, without the first slash} Default {@code
   * interlock}. Locks of different namespaces are independent.
   */
  public String namespace() {
    return namespace;
  }

  /**
   * {@return the servers' {@code tickTime}, which clients cannot query} Default 2 s, or three
   * tenths of the session's time-out if that is less. After every confirmation a lease is valid for
   * the session's time-out, less two ticks and a seventh of the time-out. If this value is set, the
   * time-out must be at least four ticks. The value should be at least six tenths of the servers'
   * own. The default meets this unless the servers' tick is longer than 3 s, or their {@code
   * minSessionTimeout} has been configured to less than two ticks.
   */
  public Duration tickTime() {
    return tickTime == null ? DEFAULT_TICK : tickTime;
  }

  /** The tickTime to assume in a session of the given time-out. */
  Duration tickTime(Duration sessionTimeout) {
    // Servers grant no session of less than two of their ticks, so this is at least six tenths of a
    // tick. Twice in a tick the leader asks its followers which clients they have heard from, or
    // later if it is slow for a moment. So it may not have asked within half a tick.
    Duration max = sessionTimeout.multipliedBy(3).dividedBy(10);
    return tickTime == null && DEFAULT_TICK.compareTo(max) > 0 ? max : tickTime();
  }

  /** The shortest session time-out that leaves enough validity. */
  Duration minSessionTimeout() {
    return tickTime == null ? MIN_SESSION_TIMEOUT : tickTime.multipliedBy(TICKS_PER_SESSION);
  }

  String describeMinSessionTimeout() {
    return (tickTime == null ? "" : "four ticks, which is ")
        + minSessionTimeout().toMillis()
        + " ms";
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof ZooKeeperSettings that
        && namespace.equals(that.namespace)
        && Objects.equals(tickTime, that.tickTime);
  }

  @Override
  public int hashCode() {
    return Objects.hash(namespace, tickTime);
  }

  @Override
  public String toString() {
    return "ZooKeeperSettings[namespace " + namespace + ", tickTime " + tickTime() + "]";
  }

  /** Builds {@link ZooKeeperSettings}. */
  public static final class Builder {

    private static final Pattern NAMESPACE = Pattern.compile("[A-Za-z0-9_:-]{1,100}");
    private static final Duration MIN_TICK = Duration.ofMillis(10);
    private static final Duration MAX_TICK = Duration.ofMinutes(1);

    private String namespace = "interlock";
    private @Nullable Duration tickTime;

    private Builder() {}

    /**
     * Sets {@link ZooKeeperSettings#namespace()}.
     *
     * @param namespace 1 to 100 ASCII letters, digits, and {@code _ : -}; for a node deeper down
     *     use a chroot
     * @return this builder
     * @throws LockConfigurationException if it is anything else
     */
    @CanIgnoreReturnValue
    public Builder namespace(String namespace) {
      if (!NAMESPACE.matcher(namespace).matches() || namespace.equals("zookeeper")) {
        throw new LockConfigurationException(
            "namespace must be 1 to 100 ASCII letters, digits, and any of _ : - , and must not be"
                + " \"zookeeper\", the servers' own; it was \""
                + namespace
                + "\"");
      }
      this.namespace = namespace;
      return this;
    }

    /**
     * Sets {@link ZooKeeperSettings#tickTime()}.
     *
     * @param tickTime 10 ms to 1 minute
     * @return this builder
     * @throws LockConfigurationException if it is out of range
     */
    @CanIgnoreReturnValue
    public Builder tickTime(Duration tickTime) {
      if (tickTime.compareTo(MIN_TICK) < 0 || tickTime.compareTo(MAX_TICK) > 0) {
        throw new LockConfigurationException("tickTime must be 10 ms to 1 minute, not " + tickTime);
      }
      this.tickTime = tickTime;
      return this;
    }

    /** {@return the settings} */
    public ZooKeeperSettings build() {
      return new ZooKeeperSettings(this);
    }
  }
}
