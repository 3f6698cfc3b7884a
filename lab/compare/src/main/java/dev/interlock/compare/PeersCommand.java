package dev.interlock.compare;

import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.server.Deployment;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Measures our locks, the bare calls and the locks of other libraries, each store on a server of
 * its own. The report is Markdown: results beside their targets, medians, and the machine. Progress
 * goes to standard error.
 *
 * <p>Exits with 0 if everything was measured, whether or not targets were met; with 1 if a store
 * had no server or failed as a whole; with 2 if an argument is invalid.
 */
@Command(
    name = "peers",
    description = "Measures our locks, the bare calls and the locks of other libraries.",
    mixinStandardHelpOptions = true)
final class PeersCommand implements Callable<Integer> {
  private static final int MAX_ROUNDS = 1_000;

  @Parameters(
      paramLabel = "BACKEND",
      arity = "0..*",
      description = "redis, redlock, zookeeper or etcd. Default: all.")
  private List<String> names = List.of();

  @Option(names = "--rounds", paramLabel = "N", description = "The number of rounds that count.")
  private @Nullable Integer rounds;

  @Option(names = "--quick", description = "Fewer, shorter rounds.")
  private boolean quick;

  @Option(
      names = "--out",
      paramLabel = "FILE.md",
      description = "The file for the report. Default: standard output.")
  private @Nullable Path out;

  Set<Store> stores() {
    return Store.named(names);
  }

  BenchProfile profile() {
    BenchProfile profile = quick ? BenchProfile.quick() : BenchProfile.usual();
    return rounds == null ? profile : profile.withRounds(rounds);
  }

  /** Rejects arguments that would otherwise fail after a quarter of an hour. */
  void check() {
    stores();
    if (rounds != null && (rounds < 1 || rounds > MAX_ROUNDS)) {
      throw new IllegalArgumentException("--rounds needs a number from 1 to " + MAX_ROUNDS);
    }
    if (out != null) {
      Path directory = out.toAbsolutePath().getParent();
      if (Files.isDirectory(out) || directory == null || !Files.isWritable(directory)) {
        throw new IllegalArgumentException(
            "--out needs a file in a writable directory, not " + out);
      }
    }
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    check();
    PeersReport report = new PeersReport(profile());
    boolean complete = true;
    for (Store store : stores()) {
      complete &= measure(store, report);
    }
    if (out == null) {
      new PrintStream(System.out, true, StandardCharsets.UTF_8).print(report.markdown());
    } else {
      Files.writeString(out, report.markdown());
      System.err.println("The report is in " + out);
    }
    return complete ? 0 : 1;
  }

  private boolean measure(Store store, PeersReport report) throws InterruptedException {
    try (Deployment deployment = store.start()) {
      Section section =
          new Section(store.title(), deployment.version() + ", " + deployment.source());
      report.add(section);
      try {
        store.measure(new Bench(deployment, profile(), section, System.err));
        return true;
      } catch (RuntimeException e) {
        section.note("the measurement was cut short: " + e);
        System.err.println("The measurement of " + store + " was cut short: " + e);
        return false;
      }
    } catch (TestbedException e) {
      System.err.println(e.getMessage());
      return false;
    }
  }
}
