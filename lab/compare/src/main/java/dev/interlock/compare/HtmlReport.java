package dev.interlock.compare;

import dev.interlock.Capability;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import dev.interlock.report.Table;
import dev.interlock.report.Template;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BiFunction;

/**
 * The HTML report, one self-contained file without scripts. {@code compare.mustache} shows these
 * records.
 */
record HtmlReport(
    String summary,
    List<String> leftOut,
    List<Charts.Marker> markers,
    List<Section> scenarios,
    List<String> known,
    List<Row> capabilities,
    List<Row> faults,
    Table kit,
    Table servers,
    Table machine) {

  /** The part of the page about one scenario. */
  record Section(Scenario.About about, List<Charts.Chart> charts, boolean hasCharts, Table table) {}

  /** A capability or fault, with a cell for each backend. */
  record Row(String name, List<Cell> cells) {}

  /** The text of one cell, and its CSS class. */
  record Cell(String text, String style) {}

  static String of(Findings findings) {
    Charts charts = new Charts(findings);
    List<Section> sections = new ArrayList<>();
    for (Scenario scenario : findings.scenarios()) {
      List<Charts.Chart> drawn = charts.of(scenario);
      sections.add(
          new Section(scenario.about(), drawn, !drawn.isEmpty(), findings.table(scenario)));
    }
    List<Findings.Backend> answering =
        findings.backends().stream().filter(backend -> backend.summary() != null).toList();
    HtmlReport report =
        new HtmlReport(
            findings.summary(),
            findings.leftOut(),
            charts.markers(),
            sections,
            answering.stream().map(Findings.Backend::name).toList(),
            guarantees(Capability.values(), answering, HtmlReport::declares),
            guarantees(Fault.values(), answering, HtmlReport::survives),
            kit(findings),
            servers(findings),
            machine(findings));
    return Template.render(HtmlReport.class, "compare.mustache", report);
  }

  private static <E extends Enum<E>> List<Row> guarantees(
      E[] constants, List<Findings.Backend> answering, BiFunction<Findings.Backend, E, Cell> cell) {
    List<Row> rows = new ArrayList<>();
    for (E constant : constants) {
      String name = constant.name().toLowerCase(Locale.ROOT).replace('_', ' ');
      rows.add(new Row(name, answering.stream().map(one -> cell.apply(one, constant)).toList()));
    }
    return rows;
  }

  private static Cell declares(Findings.Backend backend, Capability capability) {
    return backend.capabilities() != null && backend.capabilities().contains(capability)
        ? new Cell("yes", "good")
        : new Cell("no", "");
  }

  private static Cell survives(Findings.Backend backend, Fault fault) {
    Map<Fault, Guarantee> model = backend.failureModel();
    Guarantee survives = model == null ? null : model.get(fault);
    return switch (survives == null ? Guarantee.NOT_APPLICABLE : survives) {
      case EXCLUSION_AND_TOKENS -> new Cell("both", "good");
      case TOKENS_ONLY -> new Cell("tokens", "half");
      case EXCLUSION_ONLY -> new Cell("exclusion", "half");
      case NOTHING -> new Cell("none", "bad");
      case NOT_APPLICABLE -> new Cell("–", "");
    };
  }

  private static Table kit(Findings findings) {
    return new Table(
            List.of("", "verdict", "rules", "tested"),
            findings.kitVerdicts().stream()
                .map(one -> List.of(one.backend(), one.verdict(), one.summary(), one.started()))
                .toList(),
            List.of())
        .words();
  }

  private static Table servers(Findings findings) {
    List<List<String>> rows = new ArrayList<>();
    for (Findings.Backend backend : findings.backends()) {
      rows.add(
          List.of(
              backend.name(),
              backend.summary() == null ? "" : backend.summary(),
              backend.servers().isEmpty() ? backend.endpoint() : backend.servers(),
              backend.durability(),
              backend.baseline().isEmpty() ? "none" : backend.baseline()));
    }
    return new Table(
        "words wrap",
        List.of("", "how it locks", "servers", "written to disk", "baseline"),
        rows,
        List.of());
  }

  private static Table machine(Findings findings) {
    List<List<String>> facts = new ArrayList<>();
    findings.machine().forEach((name, value) -> facts.add(List.of(name, value)));
    facts.add(List.of("program", findings.version()));
    facts.add(List.of("started", findings.started().toString()));
    Profile profile = findings.profile();
    facts.add(
        List.of(
            "profile",
            "%s: %d rounds of %d ms after warming up; faults %d ×"
                .formatted(
                    profile.name(),
                    profile.rounds(),
                    profile.slice().toMillis(),
                    profile.faultRounds())));
    return new Table(List.of("machine", ""), facts, List.of()).words();
  }
}
