package dev.interlock.compare;

import dev.interlock.Capability;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import dev.interlock.report.Contender;
import dev.interlock.report.Table;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The data of the report. */
record Findings(
    String version,
    Instant started,
    Duration took,
    boolean stopped,
    Profile profile,
    Map<String, String> machine,
    List<Scenario> scenarios,
    List<Backend> backends,
    List<KitVerdict> kitVerdicts,
    Results results) {

  /**
   * A backend that took part, or should have.
   *
   * @param servers how the servers were started, and their version; empty if they were already
   *     running
   * @param baseline a description of the bare driver; empty if there is none
   * @param summary how it locks; null if its store did not answer, like the two that follow
   */
  record Backend(
      String name,
      String scheme,
      String endpoint,
      String servers,
      String durability,
      String baseline,
      @Nullable String summary,
      @Nullable List<Capability> capabilities,
      @Nullable Map<Fault, Guarantee> failureModel) {

    static Backend leftOut(Contender contender) {
      return new Backend(
          contender.name(),
          contender.scheme(),
          "",
          "",
          contender.durability(),
          "",
          null,
          null,
          null);
    }
  }

  /**
   * {@return the content of {@code results.json}, which {@code docs/results.schema.json} describes}
   */
  Map<String, Object> json() {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("format", 2);
    json.put("interlock", version);
    json.put("started", started);
    json.put("seconds", took);
    json.put("complete", !stopped && !results.anythingFailed());
    json.put("machine", machine);
    json.put("profile", profile.toJson());
    json.put("backends", backends);
    json.put("scenarios", scenarios.stream().map(Scenario::about).toList());
    json.put("kit", kitVerdicts);
    json.put("measurements", results.measurements());
    json.put("distributions", results.distributions());
    json.put("timeLines", results.timeLines());
    json.put("gaps", results.gaps());
    return json;
  }

  /** {@return the report for a terminal} */
  String text() {
    StringBuilder text = new StringBuilder();
    for (Scenario scenario : scenarios) {
      Table table = table(scenario);
      if (table.shown() || table.noted()) {
        text.append('\n').append(scenario.about().title()).append('\n').append(table.text());
      }
    }
    return text.append('\n').append(summary()).append('\n').toString();
  }

  /** {@return the content of {@code results.md}} */
  String markdown() {
    StringBuilder text = new StringBuilder("# Lock backends compared\n\n" + summary() + "\n\n");
    for (Backend backend : backends) {
      String servers = backend.servers().isEmpty() ? "" : ": " + backend.servers();
      text.append("- **" + backend.name() + "**")
          .append(Table.escape(servers + "; durability: " + backend.durability()))
          .append('\n');
    }
    for (String line : leftOut()) {
      text.append("- ").append(Table.escape(line)).append('\n');
    }
    for (Scenario scenario : scenarios) {
      Table table = table(scenario);
      if (table.shown() || table.noted()) {
        text.append("\n## " + scenario.about().title() + "\n\n")
            .append(scenario.about().explanation())
            .append("\n\n")
            .append(table.markdown());
      }
    }
    if (!kitVerdicts.isEmpty()) {
      text.append("\n## Compatibility kit\n\n");
      kitVerdicts.forEach(one -> text.append("- " + one.backend() + ": " + one.summary() + "\n"));
    }
    return text.toString();
  }

  /** {@return a sentence about the measurements} */
  String summary() {
    return String.format(
        Locale.ROOT,
        "Medians of %d interleaved rounds of %d ms each, after warming up; %s × %s; took"
            + " %d s%s.%s",
        profile.rounds(),
        profile.slice().toMillis(),
        machine.getOrDefault("processors", "?"),
        machine.getOrDefault("processor", "?"),
        took.toSeconds(),
        stopped ? ", and was stopped early" : "",
        profile.ratios() ? "" : " The rounds are too short for ratios to the baselines.");
  }

  /** {@return a line for each backend whose store did not answer} */
  List<String> leftOut() {
    return results.gaps().stream()
        .filter(gap -> gap.scenario().isEmpty())
        .map(gap -> gap.backend() + " was left out: " + gap.text())
        .toList();
  }

  /** {@return a row for each backend, followed by what was not measured, and why} */
  Table table(Scenario scenario) {
    List<Scenario.Column> columns =
        scenario.columns(profile).stream()
            .filter(column -> backends.stream().anyMatch(one -> has(scenario, one, column)))
            .toList();
    List<String> head = new ArrayList<>(List.of(""));
    columns.forEach(column -> head.add(column.label()));
    List<List<String>> rows = new ArrayList<>();
    for (Backend backend : backends) {
      if (columns.stream().anyMatch(column -> has(scenario, backend, column))) {
        List<String> row = new ArrayList<>(List.of(backend.name()));
        for (Scenario.Column column : columns) {
          row.add(
              find(scenario, backend, column)
                  .map(one -> one.unit().format(one.value()))
                  .orElse("–"));
        }
        rows.add(row);
      }
    }
    List<String> notes = new ArrayList<>();
    for (Results.Gap gap : results.gaps()) {
      if (gap.scenario().equals(scenario.id())) {
        String how = gap.reason() == Results.Reason.FAILED ? " failed: " : ": ";
        notes.add(gap.backend() + how + gap.text());
      }
    }
    return new Table(head, rows, notes);
  }

  private boolean has(Scenario scenario, Backend backend, Scenario.Column column) {
    return find(scenario, backend, column).isPresent();
  }

  private Optional<Results.Measurement> find(
      Scenario scenario, Backend backend, Scenario.Column column) {
    return results.find(scenario.id(), backend.name(), column.metric(), column.at());
  }
}
