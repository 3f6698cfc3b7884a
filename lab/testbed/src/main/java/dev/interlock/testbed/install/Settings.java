package dev.interlock.testbed.install;

import java.util.Locale;
import java.util.Optional;

/**
 * The user's settings. {@code interlock.redis.uri} is the system property of that name or else the
 * environment variable {@code INTERLOCK_REDIS_URI}; blank counts as absent.
 */
public final class Settings {
  private Settings() {}

  public static Optional<String> get(String property) {
    return present(System.getProperty(property))
        .or(() -> present(System.getenv(environmentName(property))));
  }

  public static String environmentName(String property) {
    return property.toUpperCase(Locale.ROOT).replace('.', '_');
  }

  private static Optional<String> present(@org.jspecify.annotations.Nullable String value) {
    return Optional.ofNullable(value).map(String::strip).filter(v -> !v.isEmpty());
  }
}
