package dev.interlock.jdbc;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A statement whose parameters have names, written {@code :name}. Immutable. */
final class Sql {

  private static final Pattern PARAMETER = Pattern.compile(":([A-Za-z][A-Za-z0-9]*)");

  private final String text;
  private final List<String> parameters = new ArrayList<>();

  Sql(String template) {
    Matcher matcher = PARAMETER.matcher(template);
    StringBuilder replaced = new StringBuilder();
    while (matcher.find()) {
      parameters.add(matcher.group(1));
      matcher.appendReplacement(replaced, "?");
    }
    this.text = matcher.appendTail(replaced).toString();
  }

  /** {@return the statement as JDBC wants it} */
  String text() {
    return text;
  }

  /**
   * Sets the parameters of a statement that was prepared from {@link #text}.
   *
   * @param values byte arrays, texts and numbers; may contain more than needed
   */
  void bind(PreparedStatement statement, Map<String, ?> values) throws SQLException {
    for (int i = 0; i < parameters.size(); i++) {
      Object value = values.get(parameters.get(i));
      if (value instanceof byte[] bytes) {
        statement.setBytes(i + 1, bytes);
      } else if (value instanceof String string) {
        statement.setString(i + 1, string);
      } else if (value instanceof Number number) {
        statement.setLong(i + 1, number.longValue());
      } else {
        throw new IllegalStateException("no value for " + parameters.get(i));
      }
    }
  }
}
