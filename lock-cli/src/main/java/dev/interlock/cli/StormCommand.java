package dev.interlock.cli;

import dev.interlock.storm.Storms;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Injects faults for some time, and reports which guarantees held. */
@Command(
    name = "storm",
    description = {
      "Inject faults into clients, networks and servers for as long as you like, and report which"
          + " guarantees held.",
      "",
      "Without a URI it starts disposable servers for every backend, on free ports of this"
          + " machine, and stops, kills, empties and restarts them. With URIs it leaves the"
          + " servers alone: faults hit only the storm's own clients and the network between them"
          + " and the store. It uses lock names that nothing else uses.",
      "",
      "Control-C ends it early, with a verdict on the storm so far."
    },
    footer = {
      "",
      "@|bold Exit codes:|@",
      "    0  no rule of the contract was broken",
      "    1  a rule of the contract was broken; the output says which, and how",
      "    2  wrong usage, or at least one storm could not run"
    })
final class StormCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;

  @ParentCommand private Main main;

  @Parameters(
      paramLabel = "URI",
      arity = "0..*",
      converter = UriArgument.class,
      description = "Stores to test on.")
  private List<String> uris = new ArrayList<>();

  @Option(
      names = "--backends",
      paramLabel = "NAME",
      split = ",",
      description =
          "Start servers for these backends only, such as redis,zookeeper-3. Default: all.")
  private List<String> backends = new ArrayList<>();

  @Option(
      names = "--clusters",
      description = "Start ensembles, clusters and sentinels as well as single servers.")
  private boolean clusters;

  @Option(
      names = "--for",
      paramLabel = "DURATION",
      converter = DurationConverter.class,
      description = "How long to inject faults, from 5s to 7d. Default: 1m.")
  private Duration lasting = Duration.ofMinutes(1);

  @Option(
      names = "--seed",
      paramLabel = "N",
      description = "Repeat the schedule of the storm with this seed. Default: a new seed.")
  private @Nullable Long seed;

  @Option(
      names = "--within-model",
      description =
          "Leave out faults that the backend does not promise to survive. By default they are"
              + " injected in the last third, when tokens must expose every overlap.")
  private boolean withinModel;

  @Option(
      names = "--at-once",
      paramLabel = "N",
      description = "How many backends to test at the same time. Default: 5.")
  private int atOnce = 5;

  @Option(
      names = "--report",
      paramLabel = "DIR",
      description =
          "Write index.html, results.json and results.md to this directory, and the histories of"
              + " storms in which a rule was broken.")
  private @Nullable Path directory;

  @Override
  public Integer call() throws Exception {
    AtomicBoolean stopped = new AtomicBoolean();
    Storms storms =
        new Storms(
            uris,
            backends,
            clusters,
            lasting,
            seed == null ? System.nanoTime() % 1_000_000 : seed,
            withinModel,
            atOnce,
            directory,
            Terminal.isOutput(),
            new Version().getVersion()[0],
            stopped::get,
            spec.commandLine().getOut(),
            spec.commandLine().getErr());
    main.process().handleFirstSignal(signal -> stopped.set(true));
    try {
      return switch (storms.run()) {
        case KEPT -> 0;
        case BROKEN -> ExitCode.BROKEN;
        case PARTIAL, NOTHING -> ExitCode.USAGE;
      };
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), String.valueOf(e.getMessage()), e);
    }
  }
}
