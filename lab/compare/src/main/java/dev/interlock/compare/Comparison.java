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
 * Measures backends side by side on this machine and reports the results.
 *
 * <p>Without URIs it starts a disposable server for every backend on the class path. With URIs it
 * measures on those stores: it acquires locks under names that no other program uses, and leaves
 * none behind.
 *
 * <pre>{@code
 * Comparison.Outcome outcome =
 *     new Comparison(out, err).quick(true).directory(Path.of("report")).run();
 * }</pre>
 *
 * <p>A failure of one backend is printed in one line and appears in the report; the other backends
 * go on.
 */
public final class Comparison {

  /** The extent to which a comparison succeeded. */
  public enum Outcome {
    /** Everything that can be measured was measured. */
    COMPLETE,
    /** A measurement failed; the report says which. */
    PARTIAL,
    /** Nothing was measured. */
    NOTHING,
    /** The user stopped the comparison; the report has the results up to then. */
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
   * @param out receives the tables
   * @param err receives progress and failures
   */
  public Comparison(PrintWriter out, PrintWriter err) {
    this.out = out;
    this.err = err;
  }

  /** Measures on these stores instead of starting servers. */
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

  /** Includes the results that the compatibility kit has written to these directories. */
  public Comparison kitReports(List<Path> directories) {
    this.kitReports = List.copyOf(directories);
    return this;
  }

  /** Takes about two minutes, with shorter rounds in fewer situations. */
  public Comparison quick(boolean quick) {
    this.profile = quick ? Profile.quick() : Profile.usual();
    return this;
  }

  /** Includes larger deployments: clusters, ensembles and sentinels. */
  public Comparison clusters(boolean clusters) {
    this.clusters = clusters;
    return this;
  }

  /** Writes {@code index.html}, {@code results.json} and {@code results.md} to this directory. */
  public Comparison directory(Path directory) {
    this.directory = directory;
    return this;
  }

  /** Shows a progress bar, if {@code err} is a terminal. */
  public Comparison terminal(boolean terminal) {
    this.terminal = terminal;
    return this;
  }

  /** Names this version of the program in the report. */
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
   * Measures, reports, and stops the servers that it started. An interrupt of the calling thread
   * stops the measurements; the results up to then are reported.
   *
   * @return the extent to which it succeeded
   * @throws IllegalArgumentException if a backend or scenario is unknown, or if the directory is
   *     not writable
   * @throws LockConfigurationException if a URI is invalid
   */
  public Outcome run() {
    return run(Scenario.named(scenarios));
  }

  Outcome run(List<Scenario> chosen) {
    if (!uris.isEmpty() && !backends.isEmpty()) {
      throw new IllegalArgumentException(
          "name either URIs or backends, not both: servers are started for backends only");
    }
    List<Contender> contenders =
        uris.isEmpty() ? Contender.found(clusters, backends) : Contender.at(uris);
    ReportDirectory report = directory == null ? null : ReportDirectory.at(directory);
    List<KitVerdict> verdicts = kitReports.stream().map(KitVerdict::read).toList();
    Findings findings = measure(contenders, chosen, verdicts);
    Results results = findings.results();
    boolean measured = !results.measurements().isEmpty();
    if (measured) {
      out.print(findings.text());
      if (report != null) {
        Path index = report.write(HtmlReport.of(findings), findings.json(), findings.markdown());
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
        err.println("interlock: stopped; the results so far follow");
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
