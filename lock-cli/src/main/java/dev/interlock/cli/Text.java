package dev.interlock.cli;

import java.time.Duration;
import java.util.Locale;

/** Formats values for people. */
final class Text {
  private Text() {}

  /** {@return the text with a question mark for each control character} */
  static String printable(String text) {
    StringBuilder printable = new StringBuilder(text.length());
    text.codePoints()
        .map(c -> Character.isISOControl(c) ? '?' : c)
        .forEach(printable::appendCodePoint);
    return printable.toString();
  }

  /** {@return the duration, such as "20 ms", "1.5 s", "3 min 20 s" or "2 h 5 min"} */
  static String of(Duration duration) {
    long millis = Math.max(0, duration.toMillis());
    if (millis < 1_000) {
      return millis + " ms";
    } else if (millis < 60_000) {
      return String.format(Locale.ROOT, "%.1f s", millis / 1_000.0);
    } else if (millis < 3_600_000) {
      return millis / 60_000 + " min " + millis / 1_000 % 60 + " s";
    } else {
      return millis / 3_600_000 + " h " + millis / 60_000 % 60 + " min";
    }
  }
}
