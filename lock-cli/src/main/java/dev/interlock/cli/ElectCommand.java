package dev.interlock.cli;

import dev.interlock.LeaderElection;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockEvent;
import dev.interlock.LockOptions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** Runs a program while this process is the leader, as often as it is elected. */
@Command(
    name = "elect",
    customSynopsis = {
      "interlock elect [--ttl D] [--grace D] [--verbose] URI NAME",
      "                       -- COMMAND..."
    },
    description = {
      "Run a command on the leader of an election.",
      "",
      "Campaigns until elected, and then runs the command as exec does. If the leadership is lost,"
          + " the command and its descendants get SIGTERM, and SIGKILL after the grace period. When"
          + " they have ended, elect campaigns again. It also campaigns again if it learns of the"
          + " loss only after the command has ended.",
      "",
      "If the command ends by itself, with any exit code, elect resigns and exits with the same"
          + " code. A supervisor such as systemd decides whether to start it again; meanwhile another"
          + " candidate leads.",
      "",
      "Once a campaign has begun, an unreachable store does not end it unless the URI sets"
          + " outageTimeout.",
      ""
    },
    footer = {
      "",
      "An election is the exclusive lock of the same name. 'interlock leader' shows who leads.",
      "",
      "@|bold Environment of the command:|@ as for exec. INTERLOCK_TOKEN is higher than that of every"
          + " earlier leader.",
      "",
      "@|bold Exit codes:|@",
      "  the command's own, or 128 + n if signal n ended it",
      "    2  wrong usage, URI or setting",
      "   69  the store cannot be reached or cannot serve",
      "   75  the waitTimeout of the URI has passed",
      "  126  the command exists but cannot be run",
      "  127  there is no such command",
      "",
      "@|bold Signals:|@ SIGINT, SIGTERM and SIGHUP are passed on to the command; when it has ended,"
          + " elect resigns at once and exits. During a campaign they end the campaign, with exit"
          + " code 128 + n. After a SIGTERM elect never campaigns again."
    })
final class ElectCommand implements Callable<Integer> {
  /** A year, so that no outage ends a campaign. */
  private static final Duration OUTAGE_TIMEOUT = Duration.ofDays(365);

  private static final Duration REPORT_INTERVAL = Duration.ofMinutes(1);

  @Mixin private final LockTarget target = new LockTarget();

  @Parameters(
      index = "2..*",
      arity = "1..*",
      paramLabel = "COMMAND",
      description = "The program to run and its arguments, after --.")
  private List<String> command;

  @Mixin private final GuardedCommand guarded = new GuardedCommand(target);

  @Override
  public Integer call() throws InterruptedException {
    LockOptions options = guarded.lockOptions().outageTimeout(OUTAGE_TIMEOUT).build();
    return SignalRelay.run(target.process(), signals -> run(options, signals));
  }

  private int run(LockOptions options, SignalRelay signals) throws InterruptedException {
    try (guarded;
        LockClient client = target.open(options)) {
      LeaderElection election = target.onName(client::election);
      client.onEvent(new OutageReports());
      return runWhileLeader(election, client, signals);
    }
  }

  private int runWhileLeader(LeaderElection election, LockClient client, SignalRelay signals)
      throws InterruptedException {
    guarded.verbose("campaigning for " + target.quotedName() + " at " + client.endpoint());
    while (true) {
      Lease leadership = election.campaign();
      guarded.verbose("elected leader of " + target.quotedName());
      GuardedCommand.End end = guarded.run(command, leadership, client, signals);
      signals.onJobEnd();
      if (!end.lost()) {
        return end.exitCode();
      }
      if (signals.isTerminated()) {
        return TerminationSignal.TERM.exitCode();
      }
      guarded.say("campaigning for " + target.quotedName() + " again");
    }
  }

  /** Reports an outage every minute: it may last for days, and a silent candidate looks healthy. */
  private final class OutageReports implements Consumer<LockEvent> {
    private @Nullable Instant lastReport;

    @Override
    public void accept(LockEvent event) {
      if (event instanceof LockEvent.AttemptFailed failed
          && (lastReport == null || event.time().isAfter(lastReport.plus(REPORT_INTERVAL)))) {
        lastReport = event.time();
        guarded.say(
            "still campaigning for %s despite an outage: %s"
                .formatted(target.quotedName(), failed.failure().getMessage()));
      }
    }
  }
}
