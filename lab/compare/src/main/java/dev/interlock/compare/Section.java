package dev.interlock.compare;

import static dev.interlock.compare.Competitor.OURS;

import dev.interlock.report.Table;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The section of the report about one store.
 *
 * @param title the name of the store
 * @param servers the version of the servers, and how they were started
 * @param rows the rows of the table of targets
 * @param measured the series behind the rows
 * @param notes the failures
 */
record Section(
    String title,
    String servers,
    List<List<String>> rows,
    List<Series<String>> measured,
    List<String> notes) {

  /** Creates an empty section. */
  Section(String title, String servers) {
    this(title, servers, new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
  }

  /** Adds a row that compares the values of the rounds with a target. */
  void addRow(String what, Target target, List<Double> rounds) {
    Spread spread = Spread.of(rounds);
    rows.add(
        List.of(
            what,
            target.format(),
            rounds.isEmpty() ? "not measured" : spread.format(target.unit()),
            rounds.isEmpty() ? "–" : target.isMetBy(spread.median()) ? "yes" : "**no**"));
  }

  /** Adds a series, whose medians the section shows. */
  Measured add(Series<String> series) {
    measured.add(series);
    return new Measured(this, series);
  }

  /** A series whose figures are compared with targets. */
  record Measured(Section section, Series<String> series) {
    void value(Figure figure, Target target) {
      section.addRow(series.name() + ": " + figure.label(), target, series.values(OURS, figure));
    }

    /** Compares the ratio of our figure to that of another contender with a target. */
    void ratio(Figure figure, String to, Target target) {
      ratio(figure, OURS, to, target);
    }

    void ratio(Figure figure, String of, String to, Target target) {
      String whose = of.equals(OURS) ? "" : " of " + of;
      section.addRow(
          series.name() + ": " + figure.label() + whose + ", to " + to,
          target,
          series.ratios(figure, of, to));
    }

    /** Compares the ratio of our figure to the highest of the other contenders with a target. */
    void ratioToBest(Figure figure, Target target) {
      ratio(figure, series.highest(figure, OURS).orElse("the best peer"), target);
    }

    /** Compares the difference between our figure and that of another contender with a target. */
    void difference(Figure figure, String beyond, Target target) {
      section.addRow(
          series.name() + ": " + figure.label() + " beyond " + beyond,
          target,
          series.differences(figure, OURS, beyond));
    }
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
    Set<String> contenders = new LinkedHashSet<>();
    measured.forEach(series -> contenders.addAll(series.contenders()));
    List<String> head = new ArrayList<>(List.of(""));
    head.addAll(contenders);
    List<List<String>> lines = new ArrayList<>();
    for (Series<String> series : measured) {
      for (Figure figure : Figure.values()) {
        List<String> line = new ArrayList<>(List.of(series.name() + ": " + figure.label()));
        for (String contender : contenders) {
          line.add(figure.unit().format(Spread.of(series.values(contender, figure)).median()));
        }
        if (contenders.stream().anyMatch(one -> !series.values(one, figure).isEmpty())) {
          lines.add(line);
        }
      }
    }
    return new Table(head, lines, List.of());
  }
}
