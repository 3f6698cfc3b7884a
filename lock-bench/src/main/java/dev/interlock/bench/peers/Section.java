package dev.interlock.bench.peers;

import dev.interlock.report.Table;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;

/** What the report says of one store. */
final class Section {
  private final String title;
  private final String servers;
  private final List<List<String>> rows = new ArrayList<>();
  private final List<Series> measured = new ArrayList<>();
  private final List<String> notes = new ArrayList<>();

  /**
   * Begins it.
   *
   * @param title the store's name
   * @param servers which servers, and how they were got
   */
  Section(String title, String servers) {
    this.title = title;
    this.servers = servers;
  }

  String title() {
    return title;
  }

  String servers() {
    return servers;
  }

  void row(String what, Target target, Optional<Spread> measured) {
    rows.add(
        List.of(
            what,
            target.format(),
            measured.map(spread -> spread.format(target.unit())).orElse("not measured"),
            measured
                .map(spread -> target.isMetBy(spread.median()) ? "yes" : "**no**")
                .orElse("–")));
  }

  void add(Series series) {
    measured.add(series);
  }

  void note(String line) {
    notes.add(line);
  }

  String markdown() {
    Table targets =
        new Table(List.of("", "target", "measured (lowest to highest)", "met"), rows, notes);
    return "### "
        + title
        + "\n\n"
        + targets.markdown()
        + "\nThe medians behind it:\n\n"
        + medians().markdown();
  }

  private Table medians() {
    Set<String> entrants = new LinkedHashSet<>();
    measured.forEach(series -> entrants.addAll(series.entrants()));
    List<String> head = new ArrayList<>();
    head.add("");
    head.addAll(entrants);
    List<List<String>> lines = new ArrayList<>();
    for (Series series : measured) {
      for (Figure figure : Figure.values()) {
        List<String> line = new ArrayList<>();
        line.add(series.name() + ": " + figure.label());
        boolean any = false;
        for (String entrant : entrants) {
          OptionalDouble median = series.median(entrant, figure);
          any |= median.isPresent();
          line.add(median.isPresent() ? figure.unit().format(median.getAsDouble()) : "–");
        }
        if (any) {
          lines.add(line);
        }
      }
    }
    return new Table(head, lines, List.of());
  }
}
