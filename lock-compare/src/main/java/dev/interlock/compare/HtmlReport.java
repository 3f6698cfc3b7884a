package dev.interlock.compare;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.FailureModel.Survives;
import dev.interlock.Fault;
import dev.interlock.report.Html;
import dev.interlock.report.Table;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The report for a browser: {@code index.html}, one file that needs nothing else, no script
 * included.
 */
final class HtmlReport {
  private static final String TITLE = "Lock backends compared";

  private final Comparison.Findings findings;
  private final Charts charts;
  private final StringBuilder page = new StringBuilder();

  private HtmlReport(Comparison.Findings findings) {
    this.findings = findings;
    this.charts = new Charts(findings);
  }

  static String of(Comparison.Findings findings) {
    return new HtmlReport(findings).write();
  }

  private String write() {
    page.append(Html.element("h1", TITLE));
    page.append(Html.element("p", TextReport.summary(findings)));
    leftOut();
    navigation();
    page.append(charts.legend());
    findings.scenarios().forEach(this::scenario);
    guarantees();
    kit();
    settings();
    return Html.page(TITLE, page.toString());
  }

  private void leftOut() {
    for (Results.Gap gap : findings.results().gaps()) {
      if (gap.scenario().isEmpty()) {
        page.append("<p class=\"warning\">")
            .append(Html.text(gap.backend() + " was left out: " + gap.text()))
            .append("</p>\n");
      }
    }
  }

  private void navigation() {
    page.append("<nav>\n");
    for (Scenario scenario : findings.scenarios()) {
      page.append(link(scenario.id(), scenario.title()));
    }
    page.append(link("guarantees", "Guarantees"));
    page.append(link("settings", "Machine and settings")).append("</nav>\n");
  }

  private static String link(String id, String text) {
    return "<a href=\"#" + id + "\">" + Html.text(text) + "</a>\n";
  }

  private void heading(String id, String text) {
    page.append("<h2 id=\"").append(id).append("\">").append(Html.text(text)).append("</h2>\n");
  }

  private void scenario(Scenario scenario) {
    Table table = ScenarioTable.of(scenario, findings);
    heading(scenario.id(), scenario.title());
    page.append(Html.element("p", scenario.explanation()));
    page.append(charts.of(scenario));
    if (!table.rows().isEmpty()) {
      page.append(
          Html.table(
              "", escaped(table.head()), table.rows().stream().map(HtmlReport::escaped).toList()));
    }
    page.append(Html.notes(table.notes()));
  }

  private static List<String> escaped(List<String> cells) {
    return cells.stream().map(Html::text).toList();
  }

  private void guarantees() {
    heading("guarantees", "Guarantees");
    page.append(
        Html.element(
            "p",
            "What each backend declares, and the compatibility kit holds it to. Under a fault,"
                + " \"both\" means that exclusion and the order of tokens survive; with \"tokens\""
                + " two may hold the lock at once, and a store that checks tokens is safe all the"
                + " same; \"–\" means that the fault cannot happen."));
    List<Comparison.Participant> known =
        findings.backends().stream().filter(backend -> backend.info() != null).toList();
    List<String> head = new ArrayList<>(List.of("capability"));
    known.forEach(backend -> head.add(Html.text(backend.name())));
    List<List<String>> rows = new ArrayList<>();
    for (Capability capability : Capability.values()) {
      List<String> row = new ArrayList<>(List.of(words(capability)));
      for (Comparison.Participant backend : known) {
        row.add(info(backend).has(capability) ? good("yes") : "no");
      }
      rows.add(row);
    }
    page.append(Html.table("words", head, rows));
    rows.clear();
    head.set(0, "fault");
    for (Fault fault : Fault.values()) {
      List<String> row = new ArrayList<>(List.of(words(fault)));
      for (Comparison.Participant backend : known) {
        row.add(word(info(backend).failureModel().under(fault)));
      }
      rows.add(row);
    }
    page.append(Html.table("words", head, rows));
  }

  private void kit() {
    if (findings.kitVerdicts().isEmpty()) {
      return;
    }
    heading("kit", "Compatibility kit");
    List<List<String>> rows = new ArrayList<>();
    for (KitVerdict one : findings.kitVerdicts()) {
      rows.add(escaped(List.of(one.backend(), one.verdict(), one.summary(), one.started())));
    }
    page.append(Html.table("words", List.of("", "verdict", "rules", "tested"), rows));
  }

  private static BackendInfo info(Comparison.Participant backend) {
    BackendInfo info = backend.info();
    if (info == null) {
      throw new IllegalArgumentException(backend.name() + " was left out");
    }
    return info;
  }

  private static String word(Survives survives) {
    return switch (survives) {
      case EXCLUSION_AND_TOKENS -> good("both");
      case TOKENS_ONLY -> "<span class=\"half\">tokens</span>";
      case EXCLUSION_ONLY -> "<span class=\"half\">exclusion</span>";
      case NOTHING -> "<span class=\"bad\">none</span>";
      case NOT_APPLICABLE -> "–";
    };
  }

  private static String good(String word) {
    return "<span class=\"good\">" + word + "</span>";
  }

  private static String words(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }

  private void settings() {
    heading("settings", "Machine and settings");
    List<List<String>> servers = new ArrayList<>();
    for (Comparison.Participant backend : findings.backends()) {
      BackendInfo info = backend.info();
      servers.add(
          escaped(
              List.of(
                  backend.name(),
                  info == null ? "" : info.summary(),
                  backend.servers().isEmpty() ? backend.endpoint() : backend.servers(),
                  backend.durability(),
                  backend.floor().isEmpty() ? "none" : backend.floor())));
    }
    page.append(
        Html.table(
            "words wrap",
            List.of("", "how it locks", "servers", "written to disk", "floor"),
            servers));
    List<List<String>> facts = new ArrayList<>();
    for (Map.Entry<String, String> fact : findings.machine().entrySet()) {
      facts.add(escaped(List.of(fact.getKey(), fact.getValue())));
    }
    facts.add(escaped(List.of("program", findings.version())));
    facts.add(escaped(List.of("started", findings.started().toString())));
    Effort effort = findings.effort();
    facts.add(
        escaped(
            List.of(
                "effort",
                effort.name()
                    + ": "
                    + effort.rounds()
                    + " rounds of "
                    + effort.slice().toMillis()
                    + " ms after one for warming up; faults "
                    + effort.faultRounds()
                    + " ×")));
    page.append(Html.table("words", List.of("machine", ""), facts));
    page.append(
        Html.element(
            "p",
            "Servers and clients shared this machine and its loopback network. Ratios between"
                + " backends say more than absolute numbers do."));
  }
}
