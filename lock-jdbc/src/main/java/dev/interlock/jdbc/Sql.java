package dev.interlock.jdbc;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A statement whose parameters have names, written {@code :name}, or {@code :name...} for a list of
 * values. Immutable.
 */
final class Sql {

  private static final Pattern PARAMETER = Pattern.compile(":([A-Za-z][A-Za-z0-9]*)(\\.\\.\\.)?");

  private final String text;
  private final List<String> parameters;

  Sql(String template) {
    Matcher matcher = PARAMETER.matcher(template);
    this.parameters = matcher.results().map(found -> found.group(1)).toList();
    this.text = matcher.replaceAll(found -> found.group(2) == null ? "?" : found.group());
  }

  /** {@return the statement in JDBC's form, with enough parameters for the values of the lists} */
  String text(Map<String, ?> values) {
    String filled = text;
    for (String name : parameters) {
      if (values.get(name) instanceof List<?> list) {
        filled =
            filled.replace(
                ":" + name + "...", String.join(", ", Collections.nCopies(length(list), "?")));
      }
    }
    return filled;
  }

  /** Rounds up to a few lengths, so that servers and drivers can reuse statements. */
  private static int length(List<?> values) {
    return Math.max(1, Integer.highestOneBit(values.size() * 2 - 1));
  }

  /**
   * Sets the parameters of a statement that was prepared from {@link #text}. Repeats the last value
   * of a list to fill its parameters.
   *
   * @param values byte arrays, strings and numbers, and lists of them; may contain more than needed
   */
  void bind(PreparedStatement statement, Map<String, ?> values) throws SQLException {
    int index = 1;
    for (String name : parameters) {
      List<?> all =
          values.get(name) instanceof List<?> list ? list : Arrays.asList(values.get(name));
      for (int i = 0; i < length(all); i++) {
        bind(statement, index++, name, all.get(Math.min(i, all.size() - 1)));
      }
    }
  }

  private static void bind(
      PreparedStatement statement, int index, String name, @Nullable Object value)
      throws SQLException {
    if (value instanceof byte[] bytes) {
      statement.setBytes(index, bytes);
    } else if (value instanceof String string) {
      statement.setString(index, string);
    } else if (value instanceof Number number) {
      statement.setLong(index, number.longValue());
    } else {
      throw new IllegalStateException("no value for " + name);
    }
  }
}
