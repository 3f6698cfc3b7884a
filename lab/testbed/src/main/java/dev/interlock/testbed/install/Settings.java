package dev.interlock.testbed.install;

import java.util.Locale;
import java.util.Optional;

/**
 * The user's settings. The value of {@code interlock.redis.uri} is the system property of that name
 * or, without it, the environment variable {@code INTERLOCK_REDIS_URI}. A blank value counts as
 * none.
 */
public final class Settings {
  private Settings() {}

  public static Optional<String> get(String property) {
    return nonBlank(System.getProperty(property))
        .or(() -> nonBlank(System.getenv(environmentName(property))));
  }

  public static String environmentName(String property) {
    return property.toUpperCase(Locale.ROOT).replace('.', '_');
  }

  private static Optional<String> nonBlank(@org.jspecify.annotations.Nullable String value) {
    return Optional.ofNullable(value).map(String::strip).filter(v -> !v.isEmpty());
  }
}
