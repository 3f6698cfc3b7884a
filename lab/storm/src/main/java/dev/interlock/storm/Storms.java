package dev.interlock.storm;

import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockUnavailableException;
import dev.interlock.report.Contender;
import dev.interlock.report.Failures;
import dev.interlock.report.Machine;
import dev.interlock.report.Progress;
import dev.interlock.report.ReportDirectory;
import dev.interlock.spi.DaemonThreads;
import dev.interlock.storm.report.StormReport;
import dev.interlock.storm.report.StormResult;
import dev.interlock.testbed.process.Directories;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Storms over several backends side by side, and the report on them.
 *
 * <p>Without URIs it starts disposable servers for every backend on the class path, and injects
 * faults into them. With URIs the stores are left alone: faults hit the storm's own clients only,
 * and the proxies between them and the store.
 *
 * <p>A backend over which no storm is possible is reported in one line; the others go on.
 *
 * @param uris stores to use, so that no servers are started; empty to start servers
 * @param backends the backends to start servers for; empty for all
 * @param clusters whether to start larger deployments, too
 * @param lasting for how long faults are injected
 * @param seed makes the schedule; the same seed repeats it
 * @param withinModel whether to leave out faults that the failure models do not cover
 * @param atOnce how many storms run at the same time
 * @param directory gets {@code index.html}, {@code results.json} and {@code results.md}; null for
 *     no report
 * @param terminal whether to show progress as a bar
 * @param version the version of the program, for the report
 * @param stopped ends the storms early, with a verdict on what has happened, once it is true
 * @param out gets the verdicts
 * @param err gets progress and failures
 */
public record Storms(
    List<String> uris,
    List<String> backends,
    boolean clusters,
    Duration lasting,
    long seed,
    boolean withinModel,
    int atOnce,
    @Nullable Path directory,
    boolean terminal,
    String version,
    BooleanSupplier stopped,
    PrintWriter out,
    PrintWriter err) {

  /** The outcome of all storms. */
  public enum Outcome {
    /** No rule was broken. */
    KEPT,
    /** A rule was broken; the report says which. */
    BROKEN,
    /** Some storms could not take place; no rule was broken in the others. */
    PARTIAL,
    /** No storm took place. */
    NOTHING
  }

  private static final Duration SHORTEST = Duration.ofSeconds(5);
  private static final Duration LONGEST = Duration.ofDays(7);
  private static final int MOST_AT_ONCE = 64;

  /** Beside the clients inside this process. */
  private static final int PROCESSES = 2;

  private static final int THREADS = 4;

  /** For starting servers and processes, the calm at the end, and the checks. */
  private static final Duration AROUND = Duration.ofSeconds(30);

  /**
   * Runs the storms, writes the report, and stops the servers that it started.
   *
   * @return the outcome
   * @throws IllegalArgumentException if a setting or the name of a backend is wrong, or the
   *     directory cannot be written to
   * @throws LockConfigurationException if a URI is wrong
   * @throws InterruptedException if the thread is interrupted; to end early there is {@code
   *     stopped}
   */
  public Outcome run() throws InterruptedException {
    List<Contender> contenders = contenders();
    ReportDirectory reports = directory == null ? null : ReportDirectory.at(directory);
    uris.forEach(Storms::requireValid);
    StormReport report = run(contenders);
    if (!report.storms().isEmpty()) {
      out.print(report.text());
      if (reports != null) {
        Path page = reports.write(report.html(), report, report.markdown());
        out.println("The report is in " + page);
      }
      out.flush();
    }
    if (!report.passed()) {
      return Outcome.BROKEN;
    } else if (report.storms().isEmpty()) {
      return Outcome.NOTHING;
    }
    return report.gaps().isEmpty() ? Outcome.KEPT : Outcome.PARTIAL;
  }

  private List<Contender> contenders() {
    if (!uris.isEmpty() && !backends.isEmpty()) {
      throw new IllegalArgumentException("give either URIs, or --backends to start servers for");
    }
    if (!uris.isEmpty() && clusters) {
      throw new IllegalArgumentException(
          "URIs start no servers; leave --clusters out, or the URIs");
    }
    if (lasting.compareTo(SHORTEST) < 0 || lasting.compareTo(LONGEST) > 0) {
      throw new IllegalArgumentException(
          "a storm lasts from " + SHORTEST.toSeconds() + "s to " + LONGEST.toDays() + "d");
    }
    if (atOnce < 1 || atOnce > MOST_AT_ONCE) {
      throw new IllegalArgumentException(
          "--at-once must be 1 to " + MOST_AT_ONCE + ", was " + atOnce);
    }
    return uris.isEmpty() ? Contender.found(clusters, backends) : Contender.at(uris);
  }

  private StormReport run(List<Contender> contenders) throws InterruptedException {
    Instant started = Instant.now();
    long begin = System.nanoTime();
    List<StormResult> results = new ArrayList<>();
    List<StormReport.Gap> gaps = new ArrayList<>();
    ExecutorService storms = Executors.newFixedThreadPool(atOnce, DaemonThreads.factory("storm"));
    int turns = (contenders.size() + atOnce - 1) / atOnce;
    Progress.Step step =
        new Progress.Step(
            "storms over " + names(contenders, ", ") + " with seed " + seed,
            lasting.plus(AROUND).multipliedBy(turns));
    try (Progress progress = new Progress(err, terminal, List.of(step))) {
      progress.next();
      List<Future<StormResult>> running = new ArrayList<>();
      for (Contender contender : contenders) {
        running.add(storms.submit(() -> one(contender, progress)));
      }
      for (int i = 0; i < contenders.size(); i++) {
        try {
          StormResult result = running.get(i).get();
          results.add(result);
          progress.say(StormReport.verdict(result));
        } catch (ExecutionException e) {
          Throwable cause = e.getCause() == null ? e : e.getCause();
          if (!uris.isEmpty() && cause instanceof LockConfigurationException wrong) {
            throw wrong;
          }
          String why = Failures.describe(cause);
          gaps.add(new StormReport.Gap(contenders.get(i).name(), why));
          progress.say("no storm over " + contenders.get(i).name() + ": " + why);
        }
      }
    } finally {
      storms.shutdownNow();
    }
    return new StormReport(
        StormReport.FORMAT,
        version,
        started,
        Duration.ofNanos(System.nanoTime() - begin),
        seed,
        lasting,
        command(contenders),
        stopped.getAsBoolean(),
        results.stream().allMatch(StormResult::passed),
        Machine.describe(),
        results,
        gaps);
  }

  private static String names(List<Contender> contenders, String separator) {
    return String.join(separator, contenders.stream().map(Contender::name).toList());
  }

  private String command(List<Contender> contenders) {
    String what =
        uris.isEmpty()
            ? "--backends " + names(contenders, ",")
            : String.join(" ", contenders.stream().map(one -> one.scheme() + ":…").toList());
    String time =
        lasting.toMillis() % 1_000 == 0 ? lasting.toSeconds() + "s" : lasting.toMillis() + "ms";
    return "interlock storm %s --for %s --seed %s%s"
        .formatted(what, time, seed, withinModel ? " --within-model" : "");
  }

  private StormResult one(Contender contender, Progress progress) throws Exception {
    Path histories = Files.createTempDirectory("interlock-storm-");
    StormSettings settings =
        new StormSettings(
            contender.name(),
            contender.uri(),
            contender.startForFaults(),
            /* harness= */ null,
            lasting,
            seed,
            !withinModel,
            PROCESSES,
            THREADS,
            histories,
            stopped,
            line -> progress.say(contender.name() + ": " + line));
    try {
      StormResult result = StormRun.run(settings);
      if (!result.passed() && directory != null) {
        keep(histories, directory.resolve("histories-" + contender.name()));
      }
      return result;
    } finally {
      Directories.delete(histories);
    }
  }

  /** Keeps the histories, which explain a violation. */
  private static void keep(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : files.toList()) {
        Path copy = to.resolve(from.relativize(file).toString());
        if (Files.isDirectory(file)) {
          Files.createDirectories(copy);
        } else {
          Files.copy(file, copy, StandardCopyOption.REPLACE_EXISTING);
        }
      }
    }
  }

  /** Refuses a URI that can never work before anything is started. */
  private static void requireValid(String uri) {
    try {
      LockClient.open(uri).close();
    } catch (LockUnavailableException e) {
      // That may pass; if not, the storm over it reports it.
    }
  }
}
