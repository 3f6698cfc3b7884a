package dev.interlock.spi;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import java.time.Duration;
import java.util.List;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** The parameters that URIs of every backend take. Each sets one of the client's options. */
public final class ClientParameters {

  private record Setting<T>(UriParameter<T> parameter, BiConsumer<LockOptions.Builder, T> setter) {

    void apply(LockUri uri, LockOptions.Builder options) {
      uri.get(parameter).ifPresent(value -> setter.accept(options, value));
    }
  }

  /** The parameter {@code ttl}; see {@link LockOptions#ttl()}. */
  public static final UriParameter<Duration> TTL =
      UriParameter.duration("ttl", "30s", "How long the store keeps a lock without a renewal.");

  /** The parameter {@code minHold}; see {@link LockOptions#minHold()}. */
  public static final UriParameter<Duration> MIN_HOLD =
      UriParameter.duration(
          "minHold",
          null,
          "The minimum time for which a lock stays taken, even if it is released earlier.");

  private static final List<Setting<?>> SETTINGS =
      List.of(
          new Setting<>(TTL, LockOptions.Builder::ttl),
          new Setting<>(
              UriParameter.flag("autoRenew", true, "Whether leases are renewed in the background."),
              LockOptions.Builder::autoRenew),
          new Setting<>(MIN_HOLD, LockOptions.Builder::minHold),
          duration(
              "maxHold",
              null,
              "The maximum time for which a lease may be held, including renewals.",
              LockOptions.Builder::maxHold),
          duration(
              "requestTimeout",
              "2s",
              "How long a single request to the store may take.",
              LockOptions.Builder::requestTimeout),
          duration(
              "waitTimeout",
              null,
              "How long acquire() waits while another holds the lock before it throws.",
              LockOptions.Builder::waitTimeout),
          duration(
              "outageTimeout",
              "the TTL",
              "How long the store may be unavailable before acquire() throws.",
              LockOptions.Builder::outageTimeout),
          duration(
              "openTimeout",
              null,
              "How long opening a client retries while the store is unavailable. By default there"
                  + " is a single attempt.",
              LockOptions.Builder::openTimeout),
          duration(
              "pollInterval",
              "1s",
              "How long a waiter relies on notifications before it asks the store again.",
              LockOptions.Builder::pollInterval),
          new Setting<>(
              UriParameter.text("label", "host/pid/thread", "The label that inspect shows."),
              LockOptions.Builder::label));

  private ClientParameters() {}

  private static Setting<Duration> duration(
      String name,
      @Nullable String defaultValue,
      String meaning,
      BiConsumer<LockOptions.Builder, Duration> setter) {
    return new Setting<>(UriParameter.duration(name, defaultValue, meaning), setter);
  }

  /** {@return the parameters} */
  public static List<UriParameter<?>> all() {
    return SETTINGS.stream().<UriParameter<?>>map(Setting::parameter).toList();
  }

  /**
   * Returns the options, with the values that the URI sets.
   *
   * @param options the options
   * @param uri the URI
   * @return the client's options
   * @throws LockConfigurationException if a value is not allowed
   */
  public static LockOptions apply(LockOptions options, LockUri uri) {
    LockOptions.Builder builder = options.toBuilder();
    try {
      SETTINGS.forEach(setting -> setting.apply(uri, builder));
      return builder.build();
    } catch (IllegalArgumentException e) {
      throw new LockConfigurationException(uri.scheme() + " URI: " + e.getMessage(), e);
    }
  }
}
