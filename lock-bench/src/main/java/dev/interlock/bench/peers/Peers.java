package dev.interlock.bench.peers;

import dev.interlock.testbed.Deployment;
import dev.interlock.testbed.TestbedException;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Measures our locks against the bare calls and against the locks of others, each store on a server
 * of its own, and writes Markdown: the targets and what was reached, the medians, the machine. What
 * it says while it works goes to standard error.
 *
 * <p>Exits with 0 when all that was asked for took place, whether or not the targets were met; with
 * 1 if a store had no server or failed as a whole; with 2 if the arguments are wrong.
 */
public final class Peers {
  private static final Logger GRPC = Logger.getLogger("io.grpc");

  private Peers() {}

  /** Runs it. */
  public static void main(String[] words) throws IOException, InterruptedException {
    if (List.of(words).contains("--help")) {
      System.out.println(Arguments.USAGE);
      return;
    }
    Arguments arguments;
    try {
      arguments = Arguments.parse(List.of(words));
    } catch (IllegalArgumentException e) {
      System.err.println(e.getMessage() + "\n" + Arguments.USAGE);
      System.exit(2);
      return;
    }
    GRPC.setLevel(Level.WARNING);
    Report report = new Report(arguments.effort());
    boolean complete = true;
    for (Backend backend : arguments.backends()) {
      complete &= measured(backend, arguments.effort(), report);
    }
    if (arguments.out().isPresent()) {
      Files.writeString(arguments.out().get(), report.markdown());
      System.err.println("written to " + arguments.out().get());
    } else {
      new PrintStream(System.out, true, StandardCharsets.UTF_8).print(report.markdown());
    }
    System.exit(complete ? 0 : 1); // drivers leave threads behind
  }

  private static boolean measured(Backend backend, Effort effort, Report report)
      throws InterruptedException {
    try (Deployment deployment = backend.start()) {
      Section section =
          new Section(backend.title(), deployment.version() + ", " + deployment.how());
      report.add(section);
      try {
        backend.measure(new Bench(deployment, effort, section, System.err));
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
