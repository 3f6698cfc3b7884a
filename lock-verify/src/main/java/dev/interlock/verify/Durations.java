package dev.interlock.verify;

import java.time.Duration;
import java.util.Locale;

/** Durations as people read them. */
final class Durations {
  private Durations() {}

  static String seconds(Duration duration) {
    return String.format(Locale.ROOT, "%.1f s", duration.toMillis() / 1e3);
  }

  static String minutes(Duration duration) {
    return String.format(Locale.ROOT, "%d:%02d", duration.toMinutes(), duration.toSecondsPart());
  }
}
