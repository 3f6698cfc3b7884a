package dev.interlock.storm;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The report for programs: {@code results.json}, as {@code docs/storm.md} describes it. Times are
 * seconds from the beginning of the storm.
 */
record JsonResults(
    int format,
    String interlock,
    Instant started,
    Duration seconds,
    long seed,
    Duration forSeconds,
    String command,
    boolean stopped,
    boolean passed,
    Map<String, String> machine,
    List<Storm> storms,
    List<StormReport.Gap> gaps) {
  private static final int FORMAT = 1;

  private record Storm(
      String name,
      String backend,
      String endpoint,
      String servers,
      Instant started,
      Duration lastedSeconds,
      Duration beyondAtSeconds,
      boolean passed,
      List<String> clients,
      List<String> names,
      OperationCounts operations,
      WriteCounts writes,
      long overlapsOutside,
      long overlapsExposed,
      List<Finding> findings,
      @Nullable String counterExample,
      List<SlowRecovery> slowest,
      List<ResourceUse> resources,
      List<TimedFault> faults) {}

  private record SlowRecovery(
      String fault, String target, Duration overAt, String name, String client, Duration seconds) {}

  private record TimedFault(
      String kind,
      String target,
      boolean insideModel,
      Duration from,
      Duration until,
      boolean tookEffect,
      String note) {}

  static JsonResults of(StormReport report) {
    return new JsonResults(
        FORMAT,
        report.version(),
        report.started(),
        report.took(),
        report.seed(),
        report.duration(),
        report.command(),
        report.stopped(),
        report.passed(),
        report.machine(),
        report.results().stream().map(JsonResults::storm).toList(),
        report.gaps());
  }

  private static Storm storm(StormResult storm) {
    return new Storm(
        storm.name(),
        storm.backend(),
        storm.endpoint(),
        storm.servers(),
        storm.started(),
        storm.lasted(),
        storm.plan().beyondAt(),
        storm.passed(),
        storm.clients(),
        storm.names(),
        storm.operations(),
        storm.writes(),
        storm.overlapsOutside(),
        storm.overlapsExposed(),
        storm.findings(),
        storm.counterExample(),
        storm.slowest().stream().map(recovery -> recovery(storm, recovery)).toList(),
        storm.resources(),
        storm.faults().stream().map(fault -> fault(storm, fault)).toList());
  }

  private static SlowRecovery recovery(StormResult storm, Recovery recovery) {
    return new SlowRecovery(
        recovery.fault().kind(),
        recovery.fault().target(),
        storm.at(recovery.fault().until()),
        recovery.name(),
        recovery.client(),
        recovery.took());
  }

  private static TimedFault fault(StormResult storm, InjectedFault fault) {
    return new TimedFault(
        fault.kind(),
        fault.target(),
        fault.insideModel(),
        storm.at(fault.from()),
        storm.at(fault.until()),
        fault.tookEffect(),
        fault.note());
  }
}
