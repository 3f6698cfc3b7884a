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
 * Measures our locks beside the bare calls and the locks of others, each store on a server of its
 * own, and writes Markdown: the targets and the results, the medians, the machine. Progress goes to
 * standard error.
 *
 * <p>Exits with 0 when everything requested took place, whether or not the targets were met; with 1
 * if a store had no server or failed as a whole; with 2 if the arguments are wrong.
 */
@Command(
    name = "peers",
    description = "Our locks, the bare calls and the locks of other libraries.",
    mixinStandardHelpOptions = true)
final class PeersCommand implements Callable<Integer> {
  private static final int MOST_ROUNDS = 1_000;

  @Parameters(
      paramLabel = "BACKEND",
      arity = "0..*",
      description = "redis, redlock, zookeeper or etcd. Default: all.")
  private List<String> names = List.of();

  @Option(names = "--rounds", paramLabel = "N", description = "How many rounds count.")
  private @Nullable Integer rounds;

  @Option(names = "--quick", description = "Fewer, shorter rounds.")
  private boolean quick;

  @Option(names = "--out", paramLabel = "FILE.md", description = "Where the report goes.")
  private @Nullable Path out;

  Set<Store> stores() {
    return Store.named(names);
  }

  BenchProfile profile() {
    BenchProfile profile = quick ? BenchProfile.quick() : BenchProfile.usual();
    return rounds == null ? profile : profile.withRounds(rounds);
  }

  /** Rejects at once what would fail after a quarter of an hour. */
  void check() {
    stores();
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
    check();
    PeersReport report = new PeersReport(profile());
    boolean complete = true;
    for (Store store : stores()) {
      complete &= measured(store, report);
    }
    if (out == null) {
      new PrintStream(System.out, true, StandardCharsets.UTF_8).print(report.markdown());
    } else {
      Files.writeString(out, report.markdown());
      System.err.println("written to " + out);
    }
    return complete ? 0 : 1;
  }

  private boolean measured(Store store, PeersReport report) throws InterruptedException {
    try (Deployment deployment = store.start()) {
      Section section = new Section(store.title(), deployment.version() + ", " + deployment.how());
      report.add(section);
      try {
        store.measure(new Bench(deployment, profile(), section, System.err));
        return true;
      } catch (RuntimeException e) {
        section.note("cut short: " + e);
        System.err.println(store + " was cut short: " + e);
        return false;
      }
    } catch (TestbedException e) {
      System.err.println(e.getMessage());
      return false;
    }
  }
}
