package dev.interlock.tck.report;

import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.Collectors;

/** A report for programs: {@code report.json}. */
public final class JsonReport {
  private JsonReport() {}

  /**
   * Writes the report.
   *
   * @param report what was found
   * @return one JSON object
   */
  public static String of(Report report) {
    return object(
            field("backend", string(report.backend().name())),
            field("endpoint", string(report.endpoint())),
            field(
                "capabilities",
                array(
                    report.backend().capabilities().stream()
                        .map(capability -> string(capability.name()))
                        .sorted()
                        .toList())),
            field("verdict", string(report.verdict().name())),
            field("summary", string(report.summary())),
            field("started", string(report.started().toString())),
            field("millis", Long.toString(report.took().toMillis())),
            field("java", string(report.java())),
            field("rules", array(report.rules().stream().map(JsonReport::rule).toList())),
            field("tests", array(report.tests().stream().map(JsonReport::test).toList())))
        + "\n";
  }

  private static String rule(RuleResult rule) {
    return object(
        field("id", string(rule.rule().id())),
        field("title", string(rule.rule().title())),
        field("result", string(rule.outcome().name())),
        field("reason", string(rule.reason())));
  }

  private static String test(TestResult test) {
    return object(
        field("test", string(test.test())),
        field("rules", array(test.rules().stream().map(JsonReport::string).toList())),
        field("result", string(test.status().name())),
        field("reason", string(Objects.requireNonNullElse(test.reason(), ""))),
        field("millis", Long.toString(test.took().toMillis())));
  }

  private static String object(String... fields) {
    return "{" + String.join(",", fields) + "}";
  }

  private static String field(String name, String value) {
    return string(name) + ":" + value;
  }

  private static String array(List<String> values) {
    return values.stream().collect(Collectors.joining(",\n", "[", "]"));
  }

  private static String string(String text) {
    StringBuilder json = new StringBuilder("\"");
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      switch (c) {
        case '"' -> json.append("\\\"");
        case '\\' -> json.append("\\\\");
        case '\n' -> json.append("\\n");
        default -> {
          if (c < ' ' || c > '~') {
            json.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
          } else {
            json.append(c);
          }
        }
      }
    }
    return json.append('"').toString();
  }
}
