package dev.interlock.cli;

import dev.interlock.Acquirable;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.spi.ClientParameters;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Runs a program while a lock is held, and ends it when the lease is lost. */
@Command(
    name = "exec",
    customSynopsis = {
      "interlock exec [--shared | --exclusive | --permits K/N]",
      "                      [--wait D] [--ttl D] [--min-hold D] [--grace D]",
      "                      [--verbose] URI NAME -- COMMAND..."
    },
    description = {
      "Run a command while holding a lock.",
      "",
      "Waits for the lock, runs the command with this terminal, input and output, and releases the"
          + " lock when the command and all processes that it started have ended. Until then it"
          + " renews the lease. If the lease is lost, the command and its descendants get SIGTERM,"
          + " and SIGKILL after the grace period.",
      ""
    },
    footer = {
      "",
      "While any command holds a name or waits for it, the name is one kind of lock, with one N. A"
          + " command that uses it as another kind fails with exit code 2.",
      "",
      "@|bold Environment of the command:|@",
      "  INTERLOCK_NAME   the lock's name",
      "  INTERLOCK_TOKEN  the fencing token, higher than those of all leases",
      "                   granted before; not set if the backend has none",
      "  INTERLOCK_EXEC   marks the descendants of the command; exec does not wait",
      "                   for a process that is started without it",
      "",
      "@|bold Exit codes:|@",
      "  the command's own, or 128 + n if signal n ended it",
      "    2  wrong usage, URI or setting",
      "   69  the store cannot be reached or cannot serve",
      "   75  the lock could not be acquired in time",
      "   76  the lease was lost while the command ran",
      "  126  the command exists but cannot be run",
      "  127  there is no such command",
      "",
      "@|bold Signals:|@ SIGINT, SIGTERM and SIGHUP are passed on to the command, and the lock is"
          + " kept until it has ended. While exec holds the lock for the rest of --min-hold, they free"
          + " it. While exec waits for the lock, they end the wait, with exit code 128 + n.",
      "",
      "@|bold Limits:|@ if interlock itself is killed (SIGKILL), the command goes on, nothing renews"
          + " its lease, and another client may acquire the lock after the TTL. If the machine or"
          + " this process stops for longer than the TTL, the command learns of the loss late."
          + " Where that matters, pass INTERLOCK_TOKEN to the store that the command writes to,"
          + " before it reads and with each write, and let the store refuse a token lower than the"
          + " highest that it has seen. With --shared, let it refuse only one lower than that of"
          + " the last writer. With --permits the token is a unique number that stops nobody,"
          + " because several are valid at once."
    })
final class ExecCommand implements Callable<Integer> {

  @Mixin private final LockTarget target = new LockTarget();

  @Parameters(
      index = "2..*",
      arity = "1..*",
      paramLabel = "COMMAND",
      description = "The program to run and its arguments, after --.")
  private List<String> command;

  @ArgGroup private ShareOptions share = new ShareOptions();

  @Option(
      names = "--wait",
      paramLabel = "D",
      converter = DurationConverter.class,
      description = "How long to wait for the lock; 0s tries once. Default: no limit.")
  private @Nullable Duration wait;

  @Option(
      names = "--min-hold",
      paramLabel = "D",
      converter = DurationConverter.class,
      description =
          "The shortest time that the lock stays taken, even if the command ends earlier: for short"
              + " jobs that several machines start by their clocks. On ZooKeeper and etcd, exec keeps"
              + " running until then. Default: no minimum.")
  private @Nullable Duration minHold;

  @Mixin private final GuardedCommand guarded = new GuardedCommand(target);

  @Override
  public Integer call() throws InterruptedException {
    share.requireCapability(target);
    LockOptions options = options();
    return SignalRelay.run(target.process(), signals -> run(options, signals));
  }

  private int run(LockOptions options, SignalRelay signals) throws InterruptedException {
    try (guarded;
        LockClient client = target.open(options)) {
      Acquirable<Lease> lock = target.onName(name -> share.of(client, name));
      guarded.verbose("waiting for " + target.quotedName() + " at " + client.endpoint());
      Lease lease = acquire(lock, client);
      guarded.verbose("acquired " + target.quotedName());
      return guarded.run(command, lease, client, signals).exitCode();
    }
  }

  private LockOptions options() {
    LockOptions.Builder options = guarded.lockOptions();
    target.set("--min-hold", minHold, ClientParameters.MIN_HOLD, options::minHold);
    return options.build();
  }

  private Lease acquire(Acquirable<Lease> lock, LockClient client) throws InterruptedException {
    Duration limit = wait;
    if (limit == null) {
      return lock.acquire();
    }
    Optional<Lease> lease = limit.isZero() ? lock.tryAcquire() : lock.tryAcquire(limit);
    return lease.orElseThrow(
        () ->
            new CommandFailure(
                ExitCode.NOT_ACQUIRED,
                "could not acquire %s %s%s%s"
                    .formatted(
                        share.noun(),
                        target.quotedName(),
                        limit.isZero() ? "" : " within " + Text.of(limit),
                        holders(client))));
  }

  /** Names the holders for a message; empty if the store does not know them. */
  private String holders(LockClient client) {
    try {
      String holders = Holders.labels(client.admin().inspect(target.name()));
      return holders.isEmpty() ? "" : ": held by " + holders;
    } catch (LockException e) {
      return "";
    }
  }
}
