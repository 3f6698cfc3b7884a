package dev.interlock.cli;

import dev.interlock.spi.DurationSyntax;
import java.time.Duration;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads durations as lock URIs write them, such as {@code 500ms} or {@code 10s}. */
final class DurationConverter implements ITypeConverter<Duration> {
  @Override
  public Duration convert(String text) {
    try {
      return DurationSyntax.parse(text);
    } catch (IllegalArgumentException e) {
      throw new TypeConversionException(e.getMessage());
    }
  }
}
