package dev.interlock.storm;

import dev.interlock.report.Table;
import dev.interlock.report.Template;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The report for a browser: {@code index.html}, one file that needs nothing else. */
final class HtmlReport {

  /** What {@code storm.mustache} shows. */
  private record Page(
      String sentence, Table verdicts, Table writes, List<Storm> storms, Table machine) {}

  private record Storm(StormResult result, String where, TimeLine timeLine, List<Figure> figures) {}

  private record Figure(String title, Table table) {}

  private HtmlReport() {}

  static String of(StormReport report) {
    return Template.render(
        HtmlReport.class,
        "storm.mustache",
        new Page(
            Summary.sentence(report),
            Summary.verdicts(report).words(),
            Summary.writes(report).words(),
            report.results().stream().map(HtmlReport::storm).toList(),
            machine(report)));
  }

  private static Storm storm(StormResult storm) {
    return new Storm(
        storm,
        storm.where(),
        new TimeLine(storm),
        Stream.of(
                new Figure("Faults", Summary.faults(storm).words()),
                new Figure("Slowest recoveries", Summary.recoveries(storm).words()),
                new Figure(
                    "Threads and connections, from start to end", Summary.resources(storm).words()))
            .filter(figure -> figure.table().shown())
            .toList());
  }

  private static Table machine(StormReport report) {
    List<List<String>> facts = new ArrayList<>();
    report.machine().forEach((name, value) -> facts.add(List.of(name, value)));
    facts.add(List.of("program", report.version()));
    facts.add(List.of("started", report.started().toString()));
    return new Table("words", List.of("machine", ""), facts, List.of());
  }
}
