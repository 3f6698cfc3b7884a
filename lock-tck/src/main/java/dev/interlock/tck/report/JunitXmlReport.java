package dev.interlock.tck.report;

import java.util.Locale;
import java.util.Objects;

/** A report for build servers, in the form that Ant's JUnit task gave to the world. */
public final class JunitXmlReport {
  private JunitXmlReport() {}

  /**
   * Writes the report.
   *
   * @param report what was found
   * @return one {@code testsuite} element
   */
  public static String of(Report report) {
    StringBuilder xml = new StringBuilder("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    xml.append("<testsuite name=\"lock contract: ").append(escape(report.backend().name()));
    xml.append("\" tests=\"").append(report.tests().size());
    xml.append("\" failures=\"").append(count(report, TestResult.Status.FAILED));
    xml.append("\" errors=\"0\" skipped=\"").append(skipped(report));
    xml.append("\" time=\"").append(seconds(report.took().toMillis())).append("\">\n");
    for (TestResult test : report.tests()) {
      testCase(xml, test);
    }
    return xml.append("</testsuite>\n").toString();
  }

  private static void testCase(StringBuilder xml, TestResult test) {
    int dot = test.test().lastIndexOf('.');
    xml.append("  <testcase classname=\"").append(escape(test.test().substring(0, dot)));
    xml.append("\" name=\"").append(escape(String.join(" ", test.rules()) + " "));
    xml.append(escape(test.test().substring(dot + 1)));
    xml.append("\" time=\"").append(seconds(test.took().toMillis())).append("\"");
    String reason = escape(Objects.requireNonNullElse(test.reason(), ""));
    switch (test.status()) {
      case PASSED -> xml.append("/>\n");
      case FAILED ->
          xml.append("><failure message=\"")
              .append(reason)
              .append("\">")
              .append(escape(Objects.requireNonNullElse(test.trace(), "")))
              .append("</failure></testcase>\n");
      case NOT_TESTED, NOT_APPLICABLE ->
          xml.append("><skipped message=\"").append(reason).append("\"/></testcase>\n");
    }
  }

  private static long skipped(Report report) {
    return count(report, TestResult.Status.NOT_TESTED)
        + count(report, TestResult.Status.NOT_APPLICABLE);
  }

  private static long count(Report report, TestResult.Status status) {
    return report.tests().stream().filter(test -> test.status() == status).count();
  }

  private static String seconds(long millis) {
    return String.format(Locale.ROOT, "%.3f", millis / 1e3);
  }

  /** Characters that XML cannot contain at all become question marks. */
  private static String escape(String text) {
    StringBuilder escaped = new StringBuilder();
    text.codePoints()
        .forEach(
            c -> {
              switch (c) {
                case '<' -> escaped.append("&lt;");
                case '>' -> escaped.append("&gt;");
                case '&' -> escaped.append("&amp;");
                case '"' -> escaped.append("&quot;");
                case '\n', '\t' -> escaped.append("&#").append(c).append(';');
                default ->
                    escaped.appendCodePoint(
                        c < ' ' || (c >= 0xd800 && c < 0xe000) || c == 0xfffe || c == 0xffff
                            ? '?'
                            : c);
              }
            });
    return escaped.toString();
  }
}
