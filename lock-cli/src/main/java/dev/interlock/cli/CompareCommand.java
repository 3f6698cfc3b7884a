package dev.interlock.cli;

import dev.interlock.compare.Comparison;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Measures the backends side by side. */
@Command(
    name = "compare",
    description = {
      "Measure what each backend costs, side by side on this machine.",
      "",
      "Without a URI it starts a disposable server for every backend, on free ports of this"
          + " machine, and stops it afterwards. With URIs it measures on those stores, which nothing"
          + " else should use at the same time.",
      "",
      "It takes about five minutes, and about two with --quick. Control-C ends it and reports the"
          + " results so far."
    },
    footer = {
      "",
      "@|bold Exit codes:|@",
      "    0  everything was measured",
      "    1  something could not be measured; the report says what",
      "    2  wrong usage, or nothing could be measured"
    })
final class CompareCommand implements Callable<Integer> {

  /** The names of the scenarios, for {@code --help}. */
  static final class ScenarioNames implements Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return Comparison.scenarioNames().iterator();
    }
  }

  @Spec private CommandSpec spec;

  @ParentCommand private Main main;

  @Parameters(
      paramLabel = "URI",
      arity = "0..*",
      converter = UriArgument.class,
      description = "Stores to measure on.")
  private List<String> uris = new ArrayList<>();

  @Option(
      names = "--backends",
      paramLabel = "NAME",
      split = ",",
      description = "Start servers for these backends only, such as redis,zookeeper. Default: all.")
  private List<String> backends = new ArrayList<>();

  @Option(
      names = "--scenarios",
      paramLabel = "NAME",
      split = ",",
      completionCandidates = ScenarioNames.class,
      description = "Run only some of ${COMPLETION-CANDIDATES}. Default: all.")
  private List<String> scenarios = new ArrayList<>();

  @Option(
      names = "--quick",
      description = "Take about two minutes, with shorter rounds and fewer variants.")
  private boolean quick;

  @Option(
      names = "--clusters",
      description = "Start ensembles, clusters and sentinels as well as single servers.")
  private boolean clusters;

  @Option(
      names = "--out",
      paramLabel = "DIR",
      description =
          "Write index.html, results.json and results.md to this directory, in place of an earlier"
              + " report. Default: interlock-compare in the current directory, with --quick"
              + " interlock-compare-quick.")
  private @Nullable Path directory;

  @Option(
      names = "--tck",
      paramLabel = "DIR",
      split = ",",
      description = "Add the results that 'interlock tck --report DIR' wrote.")
  private List<Path> kitReports = new ArrayList<>();

  @Override
  public Integer call() throws Exception {
    Comparison comparison =
        new Comparison(spec.commandLine().getOut(), spec.commandLine().getErr())
            .uris(uris)
            .backends(backends)
            .scenarios(scenarios)
            .kitReports(kitReports)
            .quick(quick)
            .clusters(clusters)
            .directory(
                directory != null
                    ? directory
                    : Path.of(quick ? "interlock-compare-quick" : "interlock-compare"))
            .terminal(Terminal.isOutput())
            .version(new Version().getVersion()[0]);
    AtomicReference<@Nullable TerminationSignal> received = new AtomicReference<>();
    Thread measuringThread = Thread.currentThread();
    main.process()
        .handleFirstSignal(
            signal -> {
              received.set(signal);
              measuringThread.interrupt();
            });
    try {
      return switch (comparison.run()) {
        case COMPLETE -> 0;
        case PARTIAL -> ExitCode.PARTIAL;
        case NOTHING -> ExitCode.USAGE;
        case STOPPED ->
            Optional.ofNullable(received.get()).orElse(TerminationSignal.INT).exitCode();
      };
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), String.valueOf(e.getMessage()), e);
    }
  }
}
