package dev.interlock.compare;

import dev.interlock.LockConfigurationException;
import dev.interlock.report.Contender;
import dev.interlock.report.Machine;
import dev.interlock.report.Progress;
import dev.interlock.report.ReportDirectory;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Measures backends side by side on this machine, and reports what was found.
 *
 * <p>Without URIs it starts a disposable server for every backend on the class path; with URIs it
 * measures on those stores, where it acquires locks of names that no other program uses and leaves
 * none of them behind.
 *
 * <pre>{@code
 * Comparison.Outcome outcome =
 *     new Comparison(out, err).quick(true).directory(Path.of("report")).run();
 * }</pre>
 *
 * <p>What fails on one backend is reported in one line and noted in the report; the others go on.
 */
public final class Comparison {

  /** How much was measured. */
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

  private final PrintWriter out;
  private final PrintWriter err;
  private List<String> uris = List.of();
  private List<String> backends = List.of();
  private List<String> scenarios = List.of();
  private List<Path> kitReports = List.of();
  private Profile profile = Profile.usual();
  private boolean clusters;
  private boolean terminal;
  private String version = "";
  private @Nullable Path directory;

  /**
   * Creates a comparison of everything.
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

  /** Takes about two minutes, with shorter rounds under fewer circumstances. */
  public Comparison quick(boolean quick) {
    this.profile = quick ? Profile.quick() : Profile.usual();
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

  /** Shows a progress bar that moves. */
  public Comparison terminal(boolean terminal) {
    this.terminal = terminal;
    return this;
  }

  /** Shows the program's version in the report. */
  public Comparison version(String version) {
    this.version = version;
    return this;
  }

  Comparison profile(Profile profile) {
    this.profile = profile;
    return this;
  }

  /** {@return the names that {@link #scenarios} takes} */
  public static List<String> scenarioNames() {
    return Scenario.names();
  }

  /**
   * Measures, reports, and ends the servers that it started. An interrupt of the calling thread
   * ends the measuring; what there is by then is reported all the same.
   *
   * @return how much was measured
   * @throws IllegalArgumentException if a backend or a scenario is unknown, or the directory cannot
   *     be written to
   * @throws LockConfigurationException if a URI cannot be right
   */
  public Outcome run() {
    return run(Scenario.named(scenarios));
  }

  Outcome run(List<Scenario> chosen) {
    if (!uris.isEmpty() && !backends.isEmpty()) {
      throw new IllegalArgumentException(
          "name either URIs, or backends for which servers are to be started");
    }
    List<Contender> contenders =
        uris.isEmpty() ? Contender.found(clusters, backends) : Contender.at(uris);
    ReportDirectory report = directory == null ? null : ReportDirectory.at(directory);
    List<KitVerdict> verdicts = kitReports.stream().map(KitVerdict::in).toList();
    Findings findings = measure(contenders, chosen, verdicts);
    Results results = findings.results();
    boolean measured = !results.measurements().isEmpty();
    if (measured) {
      out.print(findings.text());
      if (report != null) {
        Path index = report.write(HtmlReport.of(findings), findings.file(), findings.markdown());
        out.println("The report is in " + index);
      }
      out.flush();
    }
    if (findings.stopped()) {
      return Outcome.STOPPED;
    } else if (!measured) {
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
    Profile shared = profile;
    boolean stopped = false;
    List<Findings.Backend> described;
    try (Lineup lineup = new Lineup(contenders, results, err)) {
      try {
        lineup.open(/* strict= */ !uris.isEmpty());
        shared = profile.amongBackends(lineup.contenders().size());
        measure(chosen, shared, lineup.contenders(), results);
      } catch (InterruptedException e) {
        stopped = true;
        err.println("interlock: stopped; what was measured so far follows");
      }
      described = lineup.backends();
    }
    return new Findings(
        version,
        started,
        Duration.ofNanos(System.nanoTime() - begin),
        stopped,
        shared,
        machine,
        chosen,
        described,
        verdicts,
        results);
  }

  private void measure(
      List<Scenario> chosen, Profile profile, List<OpenContender> contenders, Results results)
      throws InterruptedException {
    if (contenders.isEmpty()) {
      return;
    }
    List<Progress.Step> steps =
        chosen.stream()
            .map(one -> new Progress.Step(one.id(), one.estimate(profile, contenders.size())))
            .toList();
    try (Progress progress = new Progress(err, terminal, steps)) {
      for (Scenario scenario : chosen) {
        progress.next();
        scenario.run(new Run(scenario, profile, contenders, results, progress::say));
      }
    }
  }
}
