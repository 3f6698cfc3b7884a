package dev.interlock.spi;

import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Durations as people write them in URIs and on command lines: {@code 500ms}, {@code 10s}, or in
 * the form of ISO 8601: {@code PT0.5S}.
 */
public final class DurationSyntax {

  private static final Pattern SYNTAX = Pattern.compile("(\\d{1,12})(ms|s|m|h|d)");

  private DurationSyntax() {}

  /**
   * Parses a whole number with one of the units {@code ms}, {@code s}, {@code m}, {@code h} and
   * {@code d}, or a text for {@link Duration#parse}.
   *
   * @param text such as {@code 10s} or {@code PT10S}
   * @return the duration, zero or positive
   * @throws IllegalArgumentException if the text is anything else; the message says how to write it
   */
  public static Duration parse(String text) {
    Matcher matcher = SYNTAX.matcher(text);
    if (!matcher.matches()) {
      return iso8601(text);
    }
    long amount = Long.parseLong(matcher.group(1));
    return switch (matcher.group(2)) {
      case "ms" -> Duration.ofMillis(amount);
      case "s" -> Duration.ofSeconds(amount);
      case "m" -> Duration.ofMinutes(amount);
      case "h" -> Duration.ofHours(amount);
      default -> Duration.ofDays(amount);
    };
  }

  private static Duration iso8601(String text) {
    try {
      Duration duration = Duration.parse(text);
      if (!duration.isNegative()) {
        return duration;
      }
    } catch (DateTimeParseException e) {
      // Refused below, like a negative one.
    }
    throw new IllegalArgumentException(
        "\""
            + text
            + "\" is not a duration; write a whole number and a unit, such as"
            + " 500ms, 10s, 5m, 2h or 1d, or ISO 8601, such as PT10S");
  }
}
