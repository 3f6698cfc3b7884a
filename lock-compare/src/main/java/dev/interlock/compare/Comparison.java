package dev.interlock.compare;

import dev.interlock.BackendInfo;
import dev.interlock.LockConfigurationException;
import dev.interlock.report.Contender;
import dev.interlock.report.Failures;
import dev.interlock.report.Machine;
import dev.interlock.report.Progress;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Measures backends side by side on this machine, and writes what came out.
 *
 * <p>Without URIs it starts a disposable server for every backend on the class path; with URIs it
 * measures on those stores, where it takes locks of names that nobody else uses and leaves none of
 * them behind.
 *
 * <pre>{@code
 * Comparison.Outcome outcome =
 *     new Comparison(out, err).quick(true).directory(Path.of("report")).run();
 * }</pre>
 *
 * <p>What fails on one backend is said in one line and noted in the report; the others go on.
 */
public final class Comparison {

  /** How much came out. */
  public enum Outcome {
    /** Everything that could be measured was. */
    COMPLETE,
    /** Something failed; the report says what. */
    PARTIAL,
    /** Nothing was measured. */
    NOTHING,
    /** The user stopped it; the report has what there was. */
    STOPPED
  }

  /** What the report says about a backend that took part, or should have. */
  record Participant(
      String name,
      String scheme,
      String endpoint,
      @Nullable BackendInfo info,
      String servers,
      String durability,
      String floor) {}

  /** All that the report is made from. */
  record Findings(
      String version,
      Instant started,
      Duration took,
      boolean stopped,
      Effort effort,
      Map<String, String> machine,
      List<Scenario> scenarios,
      List<Participant> backends,
      List<KitVerdict> kitVerdicts,
      Results results) {}

  private final PrintWriter out;
  private final PrintWriter err;
  private List<String> uris = List.of();
  private List<String> backends = List.of();
  private List<String> scenarios = List.of();
  private List<Path> kitReports = List.of();
  private Effort effort = Effort.usual();
  private boolean clusters;
  private boolean terminal;
  private String version = "";
  private @Nullable Path directory;

  /**
   * Makes a comparison of everything.
   *
   * @param out gets the tables
   * @param err gets progress and failures
   */
  public Comparison(PrintWriter out, PrintWriter err) {
    this.out = out;
    this.err = err;
  }

  /** Measures on these stores, and starts no servers. */
  public Comparison uris(List<String> uris) {
    this.uris = List.copyOf(uris);
    return this;
  }

  /** Starts servers for these backends only. */
  public Comparison backends(List<String> names) {
    this.backends = List.copyOf(names);
    return this;
  }

  /** Runs these scenarios only. */
  public Comparison scenarios(List<String> ids) {
    this.scenarios = List.copyOf(ids);
    return this;
  }

  /** Shows what the compatibility kit has written to these directories. */
  public Comparison kitReports(List<Path> directories) {
    this.kitReports = List.copyOf(directories);
    return this;
  }

  /** Takes less than a minute, with fewer and shorter rounds. */
  public Comparison quick(boolean quick) {
    this.effort = quick ? Effort.quick() : Effort.usual();
    return this;
  }

  /** Starts larger deployments, too. */
  public Comparison clusters(boolean clusters) {
    this.clusters = clusters;
    return this;
  }

  /** Writes {@code index.html}, {@code results.json} and {@code results.md} there. */
  public Comparison directory(Path directory) {
    this.directory = directory;
    return this;
  }

  /** Shows a bar that moves. */
  public Comparison terminal(boolean terminal) {
    this.terminal = terminal;
    return this;
  }

  /** Says in the report which version of the program it was. */
  public Comparison version(String version) {
    this.version = version;
    return this;
  }

  Comparison effort(Effort effort) {
    this.effort = effort;
    return this;
  }

  /** The names that {@link #scenarios} takes. */
  public static List<String> scenarioNames() {
    return Scenarios.names();
  }

  /**
   * Measures, reports, and ends the servers that it started. An interrupt of the calling thread
   * ends the measuring; what there is by then is reported all the same.
   *
   * @return how much came out
   * @throws IllegalArgumentException if a backend or a scenario is unknown, or the directory cannot
   *     be written to
   * @throws LockConfigurationException if a URI cannot be right
   */
  public Outcome run() {
    return run(Scenarios.named(scenarios));
  }

  Outcome run(List<Scenario> chosen) {
    if (!uris.isEmpty() && !backends.isEmpty()) {
      throw new IllegalArgumentException(
          "name either URIs, or backends for which servers are to be started");
    }
    List<Contender> contenders =
        uris.isEmpty() ? Contender.found(clusters, backends) : Contender.at(uris);
    if (directory != null) {
      requireWritable(directory);
    }
    List<KitVerdict> verdicts = kitReports.stream().map(KitVerdict::in).toList();
    Findings findings = measure(contenders, chosen, verdicts);
    Results results = findings.results();
    if (results.measuredAnything()) {
      out.print(TextReport.of(findings));
      if (directory != null) {
        write(findings, directory);
      }
      out.flush();
    }
    if (findings.stopped()) {
      return Outcome.STOPPED;
    } else if (!results.measuredAnything()) {
      return Outcome.NOTHING;
    }
    return results.anythingFailed() ? Outcome.PARTIAL : Outcome.COMPLETE;
  }

  private Findings measure(
      List<Contender> contenders, List<Scenario> chosen, List<KitVerdict> verdicts) {
    Instant started = Instant.now();
    long begin = System.nanoTime();
    Map<String, String> machine = Machine.describe();
    Results results = new Results();
    Effort shared = effort;
    boolean stopped = false;
    List<Participant> participants = List.of();
    try (Lineup lineup = new Lineup(contenders, results, err)) {
      try {
        lineup.open(/* strict= */ !uris.isEmpty());
        shared = effort.amongBackends(lineup.subjects().size());
        measure(chosen, shared, lineup.subjects(), results);
      } catch (InterruptedException e) {
        stopped = true;
        err.println("interlock: stopped; what there is so far follows");
      }
      participants = lineup.participants();
    }
    return new Findings(
        version,
        started,
        Duration.ofNanos(System.nanoTime() - begin),
        stopped,
        shared,
        machine,
        chosen,
        participants,
        verdicts,
        results);
  }

  private void measure(
      List<Scenario> chosen, Effort effort, List<Subject> subjects, Results results)
      throws InterruptedException {
    if (subjects.isEmpty()) {
      return;
    }
    List<Progress.Step> steps =
        chosen.stream()
            .map(
                scenario ->
                    new Progress.Step(scenario.id(), scenario.estimate(effort, subjects.size())))
            .toList();
    try (Progress progress = new Progress(err, terminal, steps)) {
      Consumer<String> say = progress::say;
      for (Scenario scenario : chosen) {
        progress.next();
        scenario.run(new Run(scenario, effort, subjects, results, say));
      }
    }
  }

  private static void requireWritable(Path directory) {
    try {
      Files.createDirectories(directory);
      Files.delete(Files.createTempFile(directory, "probe", ""));
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "cannot write to " + directory + ": " + Failures.describe(e), e);
    }
  }

  private void write(Findings findings, Path directory) {
    try {
      Files.writeString(directory.resolve("index.html"), HtmlReport.of(findings));
      Files.writeString(directory.resolve("results.json"), JsonResults.of(findings));
      Files.writeString(directory.resolve("results.md"), MarkdownReport.of(findings));
      out.println("The report is in " + directory.resolve("index.html"));
    } catch (IOException e) {
      throw new IllegalStateException("the report cannot be written: " + Failures.describe(e), e);
    }
  }
}
