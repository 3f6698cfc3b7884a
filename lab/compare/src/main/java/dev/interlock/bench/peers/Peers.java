package dev.interlock.bench.peers;

import dev.interlock.bench.Backend;
import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.server.Deployment;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;

/**
 * Measures our locks beside the bare calls and the locks of others, each store on a server of its
 * own, and writes Markdown: the targets and the results, the medians, the machine. Progress goes to
 * standard error.
 *
 * <p>Exits with 0 when everything requested took place, whether or not the targets were met; with 1
 * if a store had no server or failed as a whole; with 2 if the arguments are wrong.
 */
@Command(name = "tools/bench peers", mixinStandardHelpOptions = true)
public final class Peers implements Callable<Integer> {
  private static final int MOST_ROUNDS = 1_000;
  private static final Logger GRPC = Logger.getLogger("io.grpc");

  @Parameters(
      paramLabel = "BACKEND",
      arity = "0..*",
      description = "redis, redlock, zookeeper or etcd.")
  private List<String> backends = List.of();

  @Option(names = "--rounds", paramLabel = "N", description = "How many rounds count.")
  private @Nullable Integer rounds;

  @Option(names = "--quick", description = "Fewer, shorter rounds.")
  private boolean quick;

  @Option(names = "--out", paramLabel = "FILE.md", description = "Where the report goes.")
  private @Nullable Path out;

  /** Runs it. */
  public static void main(String[] words) {
    System.exit(commandLine(new Peers()).execute(words)); // drivers leave threads behind
  }

  static CommandLine commandLine(Peers peers) {
    return new CommandLine(peers);
  }

  Set<Backend> backends() {
    EnumSet<Backend> named = EnumSet.noneOf(Backend.class);
    backends.forEach(name -> named.add(Backend.named(name)));
    return named.isEmpty() ? EnumSet.allOf(Backend.class) : named;
  }

  Profile profile() {
    Profile profile = quick ? Profile.quick() : Profile.usual();
    return rounds == null ? profile : profile.withRounds(rounds);
  }

  /** Rejects at once what would fail after a quarter of an hour. */
  void check() {
    backends();
    if (rounds != null && (rounds < 1 || rounds > MOST_ROUNDS)) {
      throw new IllegalArgumentException("--rounds takes a number from 1 to " + MOST_ROUNDS);
    }
    if (out != null) {
      Path directory = out.toAbsolutePath().getParent();
      if (Files.isDirectory(out) || directory == null || !Files.isWritable(directory)) {
        throw new IllegalArgumentException(
            "--out takes a file in a writable directory, not " + out);
      }
    }
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    try {
      check();
    } catch (IllegalArgumentException e) {
      throw new ParameterException(commandLine(this), String.valueOf(e.getMessage()), e);
    }
    GRPC.setLevel(Level.WARNING);
    Report report = new Report(profile());
    boolean complete = true;
    for (Backend backend : backends()) {
      complete &= measured(backend, report);
    }
    if (out == null) {
      new PrintStream(System.out, true, StandardCharsets.UTF_8).print(report.markdown());
    } else {
      Files.writeString(out, report.markdown());
      System.err.println("written to " + out);
    }
    return complete ? 0 : 1;
  }

  private static void measure(Backend backend, Bench bench) throws InterruptedException {
    switch (backend) {
      case REDIS -> RedisRows.measure(bench);
      case REDLOCK -> RedlockRows.measure(bench);
      case ZOOKEEPER -> ZooKeeperRows.measure(bench);
      case ETCD -> EtcdRows.measure(bench);
    }
  }

  private boolean measured(Backend backend, Report report) throws InterruptedException {
    try (Deployment deployment = backend.start()) {
      Section section =
          new Section(backend.title(), deployment.version() + ", " + deployment.how());
      report.add(section);
      try {
        measure(backend, new Bench(deployment, profile(), section, System.err));
        return true;
      } catch (RuntimeException e) {
        section.note("cut short: " + e);
        System.err.println(backend + " was cut short: " + e);
        return false;
      }
    } catch (TestbedException e) {
      System.err.println(e.getMessage());
      return false;
    }
  }
}
