package dev.interlock.etcd;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.interlock.LockConfigurationException;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Settings for the storage of locks on etcd. Immutable. Clients that share locks must use the same
 * settings.
 *
 * <p>By default keys begin with {@code interlock/}.
 */
public final class EtcdSettings {

  private static final EtcdSettings DEFAULTS = builder().build();

  private final String namespace;

  private EtcdSettings(Builder builder) {
    this.namespace = builder.namespace;
  }

  /** {@return the default settings} */
  public static EtcdSettings defaults() {
    return DEFAULTS;
  }

  /** {@return a new builder with the default settings} */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * {@return the prefix of every key, which a slash follows} Default {@code interlock}. Locks of
   * different namespaces are independent. A user of etcd needs the permission to read and write the
   * keys with this prefix.
   */
  public String namespace() {
    return namespace;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof EtcdSettings that && namespace.equals(that.namespace);
  }

  @Override
  public int hashCode() {
    return namespace.hashCode();
  }

  @Override
  public String toString() {
    return "EtcdSettings[namespace=" + namespace + "]";
  }

  /** Builds {@link EtcdSettings}. */
  public static final class Builder {

    private static final Pattern NAMESPACE = Pattern.compile("[A-Za-z0-9._:/-]{1,100}");

    // The keys of such a namespace would count as queue entries of a lock in the enclosing
    // namespace.
    private static final Pattern NESTED = Pattern.compile(".+/lock(/.*)?");

    private String namespace = "interlock";

    private Builder() {}

    /**
     * Sets {@link EtcdSettings#namespace()}.
     *
     * @param namespace 1 to 100 ASCII letters, digits, and {@code . _ : / -}; no part between
     *     slashes may be {@code lock}, but for the first
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
      if (NESTED.matcher(namespace).matches()) {
        throw new LockConfigurationException(
            "namespace must not have a part \"lock\" after the first: the locks of another"
                + " namespace are below that; it was \""
                + namespace
                + "\"");
      }
      this.namespace = namespace;
      return this;
    }

    /** {@return the settings} */
    public EtcdSettings build() {
      return new EtcdSettings(this);
    }
  }
}
