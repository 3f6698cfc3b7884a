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
import dev.interlock.testbed.server.Deployment;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Runs storms over several backends side by side, and reports on them.
 *
 * <p>Without URIs it starts disposable servers for every backend on the class path, and injects
 * faults into them. With URIs it leaves the stores alone: faults hit only the storm's own clients
 * and the proxies between them and the store.
 *
 * <p>A storm that cannot run is reported in one line; the others go on.
 *
 * @param uris stores to use, so that no servers are started; empty to start servers
 * @param backends the backends to start servers for; empty for all
 * @param clusters whether to start clusters as well as single servers
 * @param duration how long faults are injected
 * @param seed determines the schedule; the same seed repeats it
 * @param withinModel whether to leave out faults that the failure models do not cover
 * @param atOnce how many storms run at the same time
 * @param directory where to write {@code index.html}, {@code results.json} and {@code results.md};
 *     null for no report
 * @param terminal whether to show progress as a bar
 * @param version the version of the program, for the report
 * @param stopped ends the storms early once it is true, with a verdict on what has happened
 * @param out receives the verdicts
 * @param err receives progress and failures
 */
public record Storms(
    List<String> uris,
    List<String> backends,
    boolean clusters,
    Duration duration,
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
    /** Some storms could not run; no rule was broken in the others. */
    PARTIAL,
    /** No storm could run. */
    NOTHING
  }

  private static final Duration MIN_DURATION = Duration.ofSeconds(5);
  private static final Duration MAX_DURATION = Duration.ofDays(7);
  private static final int MAX_AT_ONCE = 64;

  /** The number of clients in processes of their own; one more client is in this process. */
  private static final int CLIENT_PROCESSES = 2;

  private static final int THREADS_PER_CLIENT = 4;

  /** The time for starting servers and processes, the quiet at the end, and the checks. */
  private static final Duration OVERHEAD = Duration.ofSeconds(30);

  /**
   * Runs the storms, writes the report, and stops the servers that it started.
   *
   * @return the outcome
   * @throws IllegalArgumentException if a setting or the name of a backend is wrong, or the
   *     directory cannot be written to
   * @throws LockConfigurationException if a URI is wrong
   * @throws InterruptedException if the thread is interrupted; {@code stopped} ends the storms with
   *     a verdict instead
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
      throw new IllegalArgumentException("give either URIs or --backends, not both");
    }
    if (!uris.isEmpty() && clusters) {
      throw new IllegalArgumentException(
          "a storm over URIs starts no servers; leave --clusters out, or the URIs");
    }
    if (duration.compareTo(MIN_DURATION) < 0 || duration.compareTo(MAX_DURATION) > 0) {
      throw new IllegalArgumentException(
          "a storm lasts from " + MIN_DURATION.toSeconds() + "s to " + MAX_DURATION.toDays() + "d");
    }
    if (atOnce < 1 || atOnce > MAX_AT_ONCE) {
      throw new IllegalArgumentException(
          "--at-once must be from 1 to " + MAX_AT_ONCE + ", not " + atOnce);
    }
    return uris.isEmpty() ? Contender.found(clusters, backends) : Contender.at(uris);
  }

  private StormReport run(List<Contender> contenders) throws InterruptedException {
    Instant started = Instant.now();
    long begin = System.nanoTime();
    List<StormResult> results = new ArrayList<>();
    List<StormReport.Gap> gaps = new ArrayList<>();
    ExecutorService storms = Executors.newFixedThreadPool(atOnce, DaemonThreads.factory("storm"));
    int batches = (contenders.size() + atOnce - 1) / atOnce;
    Progress.Step step =
        new Progress.Step(
            "storms over " + names(contenders, ", ") + " with seed " + seed,
            duration.plus(OVERHEAD).multipliedBy(batches));
    try (Progress progress = new Progress(err, terminal, List.of(step))) {
      progress.next();
      List<Future<StormResult>> futures = new ArrayList<>();
      for (Contender contender : contenders) {
        futures.add(storms.submit(() -> runStorm(contender, progress)));
      }
      for (int i = 0; i < contenders.size(); i++) {
        try {
          StormResult result = futures.get(i).get();
          results.add(result);
          progress.say(StormReport.verdict(result));
        } catch (ExecutionException e) {
          Throwable cause = e.getCause() == null ? e : e.getCause();
          if (!uris.isEmpty() && cause instanceof LockConfigurationException wrongUri) {
            throw wrongUri;
          }
          String why = Failures.describe(cause);
          gaps.add(new StormReport.Gap(contenders.get(i).name(), why));
          progress.say("the storm over " + contenders.get(i).name() + " could not run: " + why);
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
        duration,
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
    String stores =
        uris.isEmpty()
            ? "--backends " + names(contenders, ",")
            : String.join(" ", contenders.stream().map(one -> one.scheme() + ":…").toList());
    String time =
        duration.toMillis() % 1_000 == 0 ? duration.toSeconds() + "s" : duration.toMillis() + "ms";
    return "interlock storm %s --for %s --seed %s%s"
        .formatted(stores, time, seed, withinModel ? " --within-model" : "");
  }

  private StormResult runStorm(Contender contender, Progress progress) throws Exception {
    Path histories = Files.createTempDirectory("interlock-storm-");
    StormSettings settings =
        new StormSettings(
            contender.name(),
            store(contender),
            /* harness= */ null,
            duration,
            seed,
            !withinModel,
            CLIENT_PROCESSES,
            THREADS_PER_CLIENT,
            histories,
            stopped,
            line -> progress.say(contender.name() + ": " + line));
    try {
      StormResult result = StormRun.run(settings);
      if (!result.passed() && directory != null) {
        copyHistories(histories, directory.resolve("histories-" + contender.name()));
      }
      return result;
    } finally {
      Directories.delete(histories);
    }
  }

  private static StormSettings.Store store(Contender contender) {
    Supplier<? extends Deployment> start = contender.startForFaults();
    return start != null
        ? new StormSettings.DisposableStore(start)
        : new StormSettings.RunningStore(Objects.requireNonNull(contender.uri()));
  }

  /** Copies the histories, which explain a violation. */
  private static void copyHistories(Path from, Path to) throws IOException {
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

  /** Refuses an invalid URI before anything is started. */
  private static void requireValid(String uri) {
    try {
      LockClient.open(uri).close();
    } catch (LockUnavailableException e) {
      // The outage may pass; if it does not, the storm over this store reports it.
    }
  }
}
