package dev.interlock.cli;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * Some permits of a semaphore, written K/N.
 *
 * @param count the permits to acquire
 * @param limit all permits of the semaphore
 */
record Permits(int count, int limit) {

  /** Reads K/N. */
  static final class Converter implements ITypeConverter<Permits> {
    private static final Pattern FORM = Pattern.compile("([0-9]+)/([0-9]+)");

    @Override
    public Permits convert(String text) {
      Matcher parts = FORM.matcher(text);
      if (!parts.matches()) {
        throw invalid(text, "write K/N for K permits of N, such as 1/5");
      }
      int limit = number(text, parts.group(2));
      int count = number(text, parts.group(1));
      if (count < 1 || count > limit) {
        throw invalid(text, "K must be from 1 to N");
      }
      return new Permits(count, limit);
    }

    private static int number(String text, String digits) {
      try {
        return Integer.parseInt(digits);
      } catch (NumberFormatException e) {
        throw invalid(text, "K and N must be at most " + Integer.MAX_VALUE);
      }
    }

    private static TypeConversionException invalid(String text, String rule) {
      return new TypeConversionException("\"" + Text.printable(text) + "\": " + rule);
    }
  }
}
