package dev.interlock.cli;

import dev.interlock.LeaderElection;
import dev.interlock.LeaderElection.Leader;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.Registration;
import java.io.PrintWriter;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Shows the leader of an election, and each change. */
@Command(
    name = "leader",
    description = "Show the leader of an election, and with --follow each change.",
    footer = {
      "",
      "The answer may be out of date when it arrives. With --follow the command prints a"
          + " line for the current leader and one for each change that it sees, until a signal ends"
          + " it with exit code 128 + n. It asks the store every second (pollInterval of the URI),"
          + " so it may miss leaders that follow each other faster. While the store does not answer,"
          + " it prints nothing. The token is that of the store's grant."
          + " docs/command-line.md describes the fields of the JSON form.",
      "",
      "The exit code is 0 even if nobody leads."
    })
final class LeaderCommand implements Callable<Integer> {

  private record Document(
      String time, String name, boolean hasLeader, @Nullable String leader, @Nullable Long token) {}

  @Mixin private final LockTarget target = new LockTarget();

  @Option(
      names = {"-f", "--follow"},
      description = "Also show each change, until a signal ends the command.")
  private boolean follow;

  @Option(names = "--json", description = "Print JSON, one object per line.")
  private boolean json;

  /** Counted down when the reader has closed the output. */
  private final CountDownLatch outputClosed = new CountDownLatch(1);

  @Override
  public Integer call() throws InterruptedException {
    return SignalRelay.run(target.process(), signals -> run());
  }

  private int run() throws InterruptedException {
    try (LockClient client = target.open(LockOptions.defaults())) {
      LeaderElection election = target.onName(client::election);
      // Unlike an observer, this call reports why the store does not answer.
      Optional<Leader> leader = election.leader();
      if (!follow) {
        show(leader);
        return 0;
      }
      try (Registration changes = election.observe(this::show)) {
        outputClosed.await();
        return 0;
      }
    }
  }

  private void show(Optional<Leader> leader) {
    String time = Instant.now().truncatedTo(ChronoUnit.MILLIS).toString();
    String label = leader.flatMap(Leader::label).orElse(null);
    Long token = leader.map(one -> LockDocument.orNull(one.fencingToken())).orElse(null);
    PrintWriter out = target.command().getOut();
    if (json) {
      Json.printLine(out, new Document(time, target.name(), leader.isPresent(), label, token));
    } else if (leader.isEmpty()) {
      out.println(time + "  nobody leads");
    } else {
      out.println(
          "%s  %s%s"
              .formatted(
                  time,
                  label == null ? "unknown" : Text.printable(label),
                  token == null ? "" : "  token " + token));
    }
    if (out.checkError()) {
      outputClosed.countDown();
    }
  }
}
