package dev.interlock.zookeeper;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.interlock.LockConfigurationException;
import java.time.Duration;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * How locks are kept on ZooKeeper. Immutable. Clients that share locks must share the namespace.
 *
 * <p>By default locks lie below the node {@code /interlock}, and the servers are taken to have a
 * {@code tickTime} of 2 s, as in the configuration that ZooKeeper is shipped with.
 */
public final class ZooKeeperSettings {

  private static final ZooKeeperSettings DEFAULTS = builder().build();

  private final String namespace;
  private final Duration tickTime;

  private ZooKeeperSettings(Builder builder) {
    this.namespace = builder.namespace;
    this.tickTime = builder.tickTime;
  }

  /**
   * Returns the defaults.
   *
   * @return the defaults
   */
  public static ZooKeeperSettings defaults() {
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
   * The node below which the locks lie, without the first slash. Default {@code interlock}. Locks
   * of different namespaces are independent.
   *
   * @return the namespace
   */
  public String namespace() {
    return namespace;
  }

  /**
   * The servers' unit of time, which they do not tell. Default 2 s. After every confirmation a
   * lease is certain for the session's time-out, less two ticks and a seventh of the time-out, and
   * a session must last at least four ticks. What is said here should not be less than half of the
   * servers' own {@code tickTime}.
   *
   * @return the tick
   */
  public Duration tickTime() {
    return tickTime;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof ZooKeeperSettings that
        && namespace.equals(that.namespace)
        && tickTime.equals(that.tickTime);
  }

  @Override
  public int hashCode() {
    return Objects.hash(namespace, tickTime);
  }

  @Override
  public String toString() {
    return "ZooKeeperSettings[namespace " + namespace + ", tickTime " + tickTime + "]";
  }

  /** Builds {@link ZooKeeperSettings}. */
  public static final class Builder {

    private static final Pattern NAMESPACE = Pattern.compile("[A-Za-z0-9_:-]{1,100}");
    private static final Duration SHORTEST_TICK = Duration.ofMillis(10);
    private static final Duration LONGEST_TICK = Duration.ofMinutes(1);

    private String namespace = "interlock";
    private Duration tickTime = Duration.ofSeconds(2);

    private Builder() {}

    /**
     * Sets {@link ZooKeeperSettings#namespace()}.
     *
     * @param namespace 1 to 100 ASCII letters, digits, and {@code _ : -}; a node deeper down is
     *     what a chroot is for
     * @return this builder
     * @throws LockConfigurationException if it is anything else
     */
    @CanIgnoreReturnValue
    public Builder namespace(String namespace) {
      if (!NAMESPACE.matcher(namespace).matches() || namespace.equals("zookeeper")) {
        throw new LockConfigurationException(
            "namespace must be 1 to 100 ASCII letters, digits, and any of _ : - , and not"
                + " \"zookeeper\", which is the servers' own; it is \""
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
      if (tickTime.compareTo(SHORTEST_TICK) < 0 || tickTime.compareTo(LONGEST_TICK) > 0) {
        throw new LockConfigurationException(
            "tickTime must be between 10 ms and 1 minute, not " + tickTime);
      }
      this.tickTime = tickTime;
      return this;
    }

    /**
     * Returns the settings.
     *
     * @return the settings
     */
    public ZooKeeperSettings build() {
      return new ZooKeeperSettings(this);
    }
  }
}
