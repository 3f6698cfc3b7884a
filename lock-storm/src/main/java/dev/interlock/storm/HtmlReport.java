package dev.interlock.storm;

import dev.interlock.report.Html;
import dev.interlock.report.Table;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The report for a browser: {@code index.html}, one file that needs nothing else. */
final class HtmlReport {
  private static final String TITLE = "Lock backends in a storm";

  private final StormReport findings;
  private final StringBuilder page = new StringBuilder();

  private HtmlReport(StormReport findings) {
    this.findings = findings;
  }

  static String of(StormReport findings) {
    return new HtmlReport(findings).write();
  }

  private String write() {
    page.append(Html.element("h1", TITLE));
    page.append(Html.element("p", Summary.sentence(findings)));
    page.append("<nav>\n");
    findings.results().forEach(storm -> page.append(link(storm.name())));
    page.append("<a href=\"#machine\">Machine</a>\n</nav>\n");
    table("words", Summary.verdicts(findings));
    page.append(
        Html.element(
            "p",
            "Beyond the failure model two may hold a lock at once; what counts there is that the"
                + " tokens tell every such pair apart, so that a store which checks them is safe."
                + " This is such a store, beside one that does not check:"));
    table("words", Summary.writes(findings));
    findings.results().forEach(this::storm);
    machine();
    return Html.page(TITLE, page.toString());
  }

  private static String link(String name) {
    return "<a href=\"#" + name + "\">" + Html.text(name) + "</a>\n";
  }

  private void storm(StormResult storm) {
    page.append("<h2 id=\"" + storm.name() + "\">" + Html.text(storm.name()) + "</h2>\n");
    page.append(Html.element("p", storm.servers().isEmpty() ? storm.endpoint() : storm.servers()));
    for (Finding finding : storm.findings()) {
      page.append("<p class=\"warning\"><strong>")
          .append(Html.text(finding.rule()))
          .append("</strong> ")
          .append(Html.text(finding.what()))
          .append("</p>\n");
    }
    if (storm.counterExample() != null) {
      page.append(Html.element("h3", "The shortest counter-example"));
      page.append("<div class=\"scroll\"><pre>")
          .append(Html.text(storm.counterExample()))
          .append("</pre></div>\n");
    }
    page.append(TimeLine.legend(storm));
    page.append("<div class=\"scroll picture\">\n").append(TimeLine.of(storm)).append("</div>\n");
    page.append("<div class=\"charts\">\n");
    figure("Faults", Summary.faults(storm));
    figure("Slowest recoveries", Summary.recoveries(storm));
    figure("Threads and connections, from start to end", Summary.resources(storm));
    page.append("</div>\n");
  }

  private void figure(String title, Table table) {
    if (!table.rows().isEmpty()) {
      page.append("<figure>\n").append(Html.element("h3", title));
      table("words", table);
      page.append("</figure>\n");
    }
  }

  private void table(String style, Table table) {
    if (!table.rows().isEmpty()) {
      List<List<String>> rows = new ArrayList<>();
      table.rows().forEach(row -> rows.add(escaped(row)));
      page.append(Html.table(style, escaped(table.head()), rows));
    }
    page.append(Html.notes(table.notes()));
  }

  private static List<String> escaped(List<String> cells) {
    return cells.stream().map(Html::text).toList();
  }

  private void machine() {
    page.append("<h2 id=\"machine\">Machine</h2>\n");
    List<List<String>> facts = new ArrayList<>();
    for (Map.Entry<String, String> fact : findings.machine().entrySet()) {
      facts.add(escaped(List.of(fact.getKey(), fact.getValue())));
    }
    facts.add(escaped(List.of("program", findings.version())));
    facts.add(escaped(List.of("started", findings.started().toString())));
    page.append(Html.table("words", List.of("machine", ""), facts));
  }
}
