package dev.interlock.storm.report;

import com.google.gson.annotations.SerializedName;
import dev.interlock.report.Table;
import dev.interlock.report.Template;
import dev.interlock.report.Unit;
import dev.interlock.storm.nemesis.InjectedFault;
import dev.interlock.storm.verdict.RecordedHistory.ResourceUse;
import dev.interlock.storm.verdict.Verdict.Finding;
import dev.interlock.storm.verdict.Verdict.Recovery;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * A report on storms in every format. Its components are the fields of {@code results.json}; see
 * {@code docs/storm.md}.
 *
 * @param format the version of {@code results.json}
 * @param version the version of the program
 * @param took how long all storms took
 * @param duration how long each storm was to last
 * @param seed the seed of the plans
 * @param command the command that repeats these storms
 * @param stopped whether they were ended early
 * @param passed whether no rule was broken
 * @param machine the machine that ran the storms
 * @param gaps the storms that could not run
 */
public record StormReport(
    int format,
    @SerializedName("interlock") String version,
    Instant started,
    @SerializedName("seconds") Duration took,
    long seed,
    @SerializedName("forSeconds") Duration duration,
    String command,
    boolean stopped,
    boolean passed,
    Map<String, String> machine,
    List<StormResult> storms,
    List<Gap> gaps) {
  public static final int FORMAT = 1;

  private static final int MAX_RECOVERIES_SHOWN = 8;

  /** A storm that could not run, and the reason. */
  public record Gap(String backend, String why) {}

  /** {@return the report for a terminal} */
  public String text() {
    StringBuilder text = new StringBuilder("\n");
    text.append(verdicts().text()).append('\n').append(writes().text()).append('\n');
    for (StormResult storm : storms) {
      for (Finding finding : storm.findings()) {
        text.append(storm.name()).append(": ").append(finding.rule()).append(": ");
        text.append(finding.what().strip()).append("\n\n");
      }
      if (storm.counterExample() != null) {
        text.append(storm.name()).append(", the shortest counter-example:\n");
        text.append(storm.counterExample().strip().indent(2)).append('\n');
      }
    }
    return text.append(sentence()).append('\n').toString();
  }

  /** {@return the report in Markdown, {@code results.md}} */
  public String markdown() {
    StringBuilder text = new StringBuilder("# Lock backends in a storm\n\n");
    text.append(Table.escape(sentence())).append("\n\n");
    text.append(verdicts().markdown()).append('\n').append(writes().markdown());
    for (StormResult storm : storms) {
      text.append("\n## ").append(storm.name()).append("\n\n");
      text.append(Table.escape(storm.where())).append("\n\n");
      for (Finding finding : storm.findings()) {
        text.append("- **").append(finding.rule()).append("**: ");
        text.append(Table.escape(finding.what().strip().replace("\n", "\n  "))).append('\n');
      }
      if (storm.counterExample() != null) {
        text.append("\n```\n").append(storm.counterExample().strip()).append("\n```\n\n");
      }
      text.append(faults(storm).markdown());
      if (!storm.slowest().isEmpty()) {
        text.append('\n').append(recoveries(storm).markdown());
      }
    }
    return text.toString();
  }

  /** The values for {@code storm.mustache}. */
  private record Page(
      String sentence, Table verdicts, Table writes, List<Section> storms, Table machine) {}

  private record Section(StormResult result, TimeLine timeLine, List<Figure> figures) {}

  private record Figure(String title, Table table) {}

  /** {@return the report for a browser, {@code index.html}: one file that needs nothing else} */
  public String html() {
    List<List<String>> facts = new ArrayList<>();
    machine.forEach((name, value) -> facts.add(List.of(name, value)));
    facts.add(List.of("program", version));
    facts.add(List.of("started", started.toString()));
    return Template.render(
        StormReport.class,
        "storm.mustache",
        new Page(
            sentence(),
            verdicts().words(),
            writes().words(),
            storms.stream().map(StormReport::section).toList(),
            new Table("words", List.of("machine", ""), facts, List.of())));
  }

  private static Section section(StormResult storm) {
    return new Section(
        storm,
        new TimeLine(storm),
        Stream.of(
                new Figure("Faults", faults(storm).words()),
                new Figure("Slowest recoveries", recoveries(storm).words()),
                new Figure("Threads and connections, from start to end", resources(storm).words()))
            .filter(figure -> figure.table().shown())
            .toList());
  }

  /** {@return the result of a storm in one line} */
  public static String verdict(StormResult storm) {
    String verdict = storm.passed() ? "the contract was kept" : "BROKEN: " + storm.rules();
    return "%s: %s (%d faults, %d leases)"
        .formatted(
            storm.name(), verdict, storm.faultsThatTookEffect(), storm.operations().grants());
  }

  private Table verdicts() {
    return table(
        storms,
        gaps.stream().map(gap -> gap.backend() + ": no storm: " + gap.why()).toList(),
        List.of(
            new Column<>("", StormResult::name),
            new Column<>("verdict", one -> one.passed() ? "kept" : "broken: " + one.rules()),
            new Column<>("faults", one -> count(one.faultsThatTookEffect())),
            new Column<>("leases", one -> count(one.operations().grants())),
            new Column<>("shared", one -> count(one.operations().shared())),
            new Column<>("lost", one -> count(one.operations().lost())),
            new Column<>("reported in time", one -> count(one.operations().reported())),
            new Column<>("overlaps within", one -> count(one.overlapsWithin())),
            new Column<>("overlaps beyond", one -> count(one.overlapsOutside())),
            new Column<>("exposed by tokens", one -> count(one.overlapsExposed())),
            new Column<>(
                "slowest recovery",
                one -> one.slowest().isEmpty() ? "–" : seconds(one.slowest().get(0).took()))));
  }

  /** A column of a table: its heading, and its cell in the row of an item. */
  private record Column<T>(String head, Function<T, String> cell) {}

  private static <T> Table table(List<T> items, List<String> notes, List<Column<T>> columns) {
    return new Table(
        columns.stream().map(Column::head).toList(),
        items.stream()
            .map(item -> columns.stream().map(column -> column.cell.apply(item)).toList())
            .toList(),
        notes);
  }

  /** Shows how many writes the token has saved. */
  private Table writes() {
    return table(
        storms,
        List.of(),
        List.of(
            new Column<>("", StormResult::name),
            new Column<>("writes with a token", one -> count(one.writes().guarded())),
            new Column<>("refused as stale", one -> count(one.writes().refused())),
            new Column<>("lost", one -> count(one.writes().guardedLost())),
            new Column<>("writes without", one -> count(one.writes().unguarded())),
            new Column<>("lost without a token", one -> count(one.writes().unguardedLost()))));
  }

  /** Shows how often each kind of fault was injected, and how often it had a visible effect. */
  private static Table faults(StormResult storm) {
    Map<String, List<InjectedFault>> byKind = new TreeMap<>();
    for (InjectedFault fault : storm.faults()) {
      byKind.computeIfAbsent(fault.kind(), kind -> new ArrayList<>()).add(fault);
    }
    return table(
        List.copyOf(byKind.values()),
        List.of(),
        List.of(
            new Column<>("fault", faults -> faults.get(0).kind()),
            new Column<>(
                "failure model", faults -> faults.get(0).insideModel() ? "covered" : "beyond"),
            new Column<>("injected", faults -> "" + faults.size()),
            new Column<>(
                "took effect",
                faults -> "" + faults.stream().filter(InjectedFault::tookEffect).count())));
  }

  /** Shows the faults after which the next lease took longest. */
  private static Table recoveries(StormResult storm) {
    return table(
        storm.slowest().stream().limit(MAX_RECOVERIES_SHOWN).toList(),
        List.of(),
        List.of(
            new Column<>(
                "after", one -> one.fault() + (one.target().isEmpty() ? "" : ", ") + one.target()),
            new Column<>("recovery", one -> seconds(one.took())),
            new Column<>("over at", one -> at(one.overAt())),
            new Column<>("lock", one -> "lock " + (storm.names().indexOf(one.name()) + 1)),
            new Column<>("client", Recovery::client)));
  }

  private static Table resources(StormResult storm) {
    return table(
        storm.resources(),
        List.of(),
        List.of(
            new Column<>("client", ResourceUse::client),
            new Column<>("threads", one -> one.threadsBefore() + " → " + one.threadsAfter()),
            new Column<>(
                "connections", one -> one.connectionsBefore() + " → " + one.connectionsAfter())));
  }

  /** {@return a sentence about duration, seed and machine} */
  private String sentence() {
    return String.format(
        Locale.ROOT,
        "Faults for %s with seed %d%s, on %s × %s. Repeat with: %s",
        seconds(duration),
        seed,
        stopped ? ", ended early" : "",
        machine.getOrDefault("processors", "?"),
        machine.getOrDefault("processor", "?"),
        command);
  }

  /** {@return a time of a storm, counted from its beginning} */
  static String at(Duration time) {
    return String.format(Locale.ROOT, "%.1f s", time.toNanos() / 1e9);
  }

  private static String seconds(Duration duration) {
    return Unit.SECONDS.format(duration.toNanos() / 1e9);
  }

  private static String count(long number) {
    return Unit.COUNT.format((double) number);
  }
}
