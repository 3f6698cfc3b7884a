package dev.interlock.storm;

import dev.interlock.report.Table;
import dev.interlock.report.Unit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The tables of a report, in any format. */
final class Summary {
  /** Recoveries in a report for people. */
  private static final int SHOWN = 8;

  private Summary() {}

  /** A row for each storm. */
  static Table verdicts(StormReport findings) {
    List<String> head =
        List.of(
            "",
            "verdict",
            "faults",
            "leases",
            "lost",
            "reported in time",
            "overlaps within",
            "overlaps beyond",
            "exposed by tokens",
            "slowest recovery");
    List<List<String>> rows = new ArrayList<>();
    for (StormResult one : findings.results()) {
      rows.add(
          List.of(
              one.name(),
              one.passed() ? "kept" : "broken: " + rules(one),
              count(one.faults().stream().filter(InjectedFault::tookEffect).count()),
              count(one.operations().grants()),
              count(one.operations().lost()),
              count(one.operations().reported()),
              count(one.findings().stream().filter(f -> f.rule().startsWith("EXCL")).count()),
              count(one.overlapsOutside()),
              count(one.overlapsExposed()),
              one.slowest().isEmpty() ? "–" : seconds(one.slowest().get(0).took())));
    }
    List<String> notes =
        findings.gaps().stream().map(gap -> gap.backend() + ": no storm: " + gap.why()).toList();
    return new Table(head, rows, notes);
  }

  /** How many writes the token has saved. */
  static Table writes(StormReport findings) {
    List<String> head =
        List.of(
            "",
            "writes with a token",
            "refused as stale",
            "lost",
            "writes without",
            "lost without a token");
    List<List<String>> rows = new ArrayList<>();
    for (StormResult one : findings.results()) {
      WriteCounts writes = one.writes();
      rows.add(
          List.of(
              one.name(),
              count(writes.guarded()),
              count(writes.refused()),
              count(writes.guardedLost()),
              count(writes.unguarded()),
              count(writes.unguardedLost())));
    }
    return new Table(head, rows, List.of());
  }

  /** How often each kind of fault was injected, and how often it was seen to take effect. */
  static Table faults(StormResult storm) {
    Map<String, int[]> counts = new LinkedHashMap<>();
    Map<String, Boolean> inside = new LinkedHashMap<>();
    for (InjectedFault fault : storm.faults()) {
      int[] count = counts.computeIfAbsent(fault.kind(), kind -> new int[2]);
      count[0]++;
      count[1] += fault.tookEffect() ? 1 : 0;
      inside.put(fault.kind(), fault.insideModel());
    }
    List<List<String>> rows = new ArrayList<>();
    counts.entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .forEach(
            entry ->
                rows.add(
                    List.of(
                        entry.getKey(),
                        Boolean.TRUE.equals(inside.get(entry.getKey())) ? "covered" : "beyond",
                        Integer.toString(entry.getValue()[0]),
                        Integer.toString(entry.getValue()[1]))));
    return new Table(List.of("fault", "failure model", "injected", "took effect"), rows, List.of());
  }

  /** The faults after which the next lease took longest. */
  static Table recoveries(StormResult storm) {
    List<List<String>> rows = new ArrayList<>();
    for (Recovery one : storm.slowest().subList(0, Math.min(SHOWN, storm.slowest().size()))) {
      rows.add(
          List.of(
              one.fault().kind()
                  + (one.fault().target().isEmpty() ? "" : ", ")
                  + one.fault().target(),
              seconds(one.took()),
              at(storm, one.fault().until()),
              "lock " + (storm.names().indexOf(one.name()) + 1),
              one.client()));
    }
    return new Table(List.of("after", "recovery", "over at", "lock", "client"), rows, List.of());
  }

  /** Threads and connections at the beginning and at the end. */
  static Table resources(StormResult storm) {
    List<List<String>> rows = new ArrayList<>();
    for (ResourceUse one : storm.resources()) {
      rows.add(
          List.of(
              one.client(),
              one.threadsBefore() + " → " + one.threadsAfter(),
              one.connectionsBefore() + " → " + one.connectionsAfter()));
    }
    return new Table(List.of("client", "threads", "connections"), rows, List.of());
  }

  /** The rules that were broken, each once. */
  static String rules(StormResult storm) {
    return String.join(
        ", ", storm.findings().stream().map(Finding::rule).distinct().sorted().toList());
  }

  /** A sentence on duration, seed and machine. */
  static String sentence(StormReport findings) {
    return String.format(
        Locale.ROOT,
        "Faults for %s with seed %d%s, on %s × %s. Repeat with: %s",
        seconds(findings.duration()),
        findings.seed(),
        findings.stopped() ? ", ended early" : "",
        findings.machine().getOrDefault("processors", "?"),
        findings.machine().getOrDefault("processor", "?"),
        findings.command());
  }

  /** A time of a storm, counted from its beginning. */
  static String at(StormResult storm, long nanos) {
    return String.format(Locale.ROOT, "%.1f s", (nanos - storm.origin()) / 1e9);
  }

  static String seconds(Duration duration) {
    return Unit.SECONDS.format(duration.toNanos() / 1e9);
  }

  private static String count(long number) {
    return Unit.COUNT.format((double) number);
  }
}
