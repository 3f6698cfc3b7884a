package dev.interlock.cli;

import dev.interlock.Capability;
import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockEvent;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.spi.LockUri;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;

/** Runs a program while a lock is held, and never longer. */
@Command(
    name = "exec",
    customSynopsis = {
      "interlock exec [--wait D] [--ttl D] [--grace D] [--verbose]",
      "                      URI NAME -- COMMAND..."
    },
    description = {
      "Run a command while holding a lock.",
      "",
      "Waits for the lock, runs the command with this terminal, input and output, and releases the"
          + " lock when the command and whatever it started have ended. The lease is renewed all"
          + " the while. If it is lost nevertheless, the command and its descendants get SIGTERM,"
          + " and SIGKILL after the grace.",
      ""
    },
    footer = {
      "",
      "@|bold Environment of the command:|@",
      "  INTERLOCK_NAME   the lock's name",
      "  INTERLOCK_TOKEN  the fencing token, higher than that of every earlier",
      "                   holder; not set if the backend has none",
      "  INTERLOCK_EXEC   marks what the command starts; the lock is not kept for a",
      "                   process that is started without it",
      "",
      "@|bold Exit codes:|@",
      "  that of the command, or 128 + n if signal n ended it",
      "    2  wrong usage, URI or setting",
      "   69  the store cannot be reached or cannot serve",
      "   75  the lock was not had in time",
      "   76  the lease was lost while the command ran",
      "  126  the command exists but cannot be run",
      "  127  there is no such command",
      "",
      "@|bold Signals:|@ SIGINT, SIGTERM and SIGHUP are passed on to the command, and the lock is"
          + " kept until it has ended. While waiting for the lock they end the waiting, with exit"
          + " code 128 + n.",
      "",
      "@|bold What cannot be helped:|@ if interlock itself is killed (SIGKILL) the command goes on"
          + " without anybody renewing its lock, which another gets when the TTL is over. If the"
          + " machine or this process stands still for longer than the TTL, the command finds out"
          + " late. Where that matters, hand INTERLOCK_TOKEN to the store that the command writes"
          + " to, before it reads and with each write, and let it refuse a token lower than the"
          + " highest it has seen."
    })
final class ExecCommand implements Callable<Integer> {
  private static final String NAME_VARIABLE = "INTERLOCK_NAME";
  private static final String TOKEN_VARIABLE = "INTERLOCK_TOKEN";

  @Mixin private final LockTarget target = new LockTarget();

  @Parameters(
      index = "2..*",
      arity = "1..*",
      paramLabel = "COMMAND",
      description = "The program to run and its arguments, after --.")
  @SuppressWarnings("NullAway.Init") // set by picocli
  private List<String> command;

  @Option(
      names = "--wait",
      paramLabel = "D",
      converter = DurationConverter.class,
      description = "How long to wait for the lock; 0s tries once. Default: without limit.")
  private @Nullable Duration wait;

  @Option(
      names = "--ttl",
      paramLabel = "D",
      converter = DurationConverter.class,
      description =
          "How long the store keeps the lock when nothing is heard of this process. Default: 30s.")
  private @Nullable Duration ttl;

  @Option(
      names = "--grace",
      paramLabel = "D",
      defaultValue = "10s",
      converter = DurationConverter.class,
      description =
          "How much time is between SIGTERM and SIGKILL when the lease is lost. Default:"
              + " ${DEFAULT-VALUE}.")
  @SuppressWarnings("NullAway.Init") // set by picocli
  private Duration grace;

  @Option(
      names = {"-v", "--verbose"},
      description = "Say on stderr when the lock is waited for, had and released.")
  private boolean verbose;

  private final Messages messages = new Messages(() -> target.command().getErr());

  @Override
  public Integer call() throws InterruptedException {
    LockOptions options = options();
    SignalRelay signals = SignalRelay.install();
    try (messages;
        LockClient client = target.open(options)) {
      DistributedLock lock = target.onName(client::lock);
      verbose("waiting for " + quotedName() + " at " + client.endpoint());
      Lease lease = acquire(lock, client);
      verbose("got " + quotedName());
      return runHolding(lease, client, signals);
    } catch (RuntimeException | InterruptedException e) {
      Optional<TerminationSignal> signal = signals.received();
      if (signal.isPresent()) { // whatever the interrupt looks like by the time it gets here
        return signal.get().exitCode();
      }
      throw e;
    }
  }

  private LockOptions options() {
    LockOptions.Builder options = LockOptions.builder();
    if (ttl != null) {
      if (LockUri.parse(target.uri()).text("ttl").isPresent()) {
        throw new ParameterException(
            target.command(), "the TTL is given twice, in the URI and by --ttl; give it once");
      }
      try {
        options.ttl(ttl);
      } catch (IllegalArgumentException e) {
        throw new ParameterException(target.command(), "--ttl: " + e.getMessage(), e);
      }
    }
    return options.build();
  }

  private Lease acquire(DistributedLock lock, LockClient client) throws InterruptedException {
    Duration limit = wait;
    if (limit == null) {
      return lock.acquire();
    }
    Optional<Lease> lease = limit.isZero() ? lock.tryAcquire() : lock.tryAcquire(limit);
    return lease.orElseThrow(
        () ->
            new CommandFailure(
                ExitCode.NOT_HAD,
                "lock "
                    + quotedName()
                    + " was not had"
                    + (limit.isZero() ? "" : " within " + Text.of(limit))
                    + holder(client)));
  }

  /** Who was in the way, if that can be told. */
  private String holder(LockClient client) {
    try {
      LockState state = client.inspect(target.name());
      return state.holder().map(holder -> "; it is held by " + Text.printable(holder)).orElse("");
    } catch (LockException e) {
      return "";
    }
  }

  private int runHolding(Lease lease, LockClient client, SignalRelay signals) {
    try (lease) { // in case that starting the command fails
      Optional<TerminationSignal> signal = signals.received();
      int exitCode = signal.isPresent() ? signal.get().exitCode() : runJob(lease, client, signals);
      // The lease stays reachable until here, or it would not be renewed.
      return switch (lease.release()) {
        case RELEASED -> {
          verbose("released " + quotedName());
          yield exitCode;
        }
        case UNKNOWN -> {
          say(
              "the release of "
                  + quotedName()
                  + " was not confirmed; it is free within "
                  + Text.of(lease.effectiveTtl()));
          yield exitCode;
        }
        case ALREADY_LOST -> {
          if (exitCode != ExitCode.LOST) {
            say(
                quotedName()
                    + " was no longer held when it was to be released; another may have had it"
                    + " while the command ran");
          }
          yield ExitCode.LOST;
        }
      };
    }
  }

  /** Returns when the command and all that it started have ended. */
  private int runJob(Lease lease, LockClient client, SignalRelay signals) {
    Map<String, String> environment = new HashMap<>();
    environment.put(NAME_VARIABLE, target.name());
    if (client.backend().has(Capability.FENCING)) {
      environment.put(TOKEN_VARIABLE, Long.toString(lease.fencingToken()));
    }
    Job job;
    try {
      // Without a token of our own, one from further out must not be taken for it.
      job = signals.start(() -> Job.start(command, environment, Set.of(TOKEN_VARIABLE), this::say));
    } catch (IOException e) {
      throw cannotStart(e);
    }
    try {
      signals.passOn();
      return supervise(job, lease);
    } catch (RuntimeException | Error e) {
      // A bug here must not free the lock under a command that is still at work.
      job.childEnded().join();
      throw e;
    }
  }

  private int supervise(Job job, Lease lease) {
    tellRisks(lease);
    CompletableFuture<LeaseLostException> lost = lease.lost();
    boolean ended = job.awaitEnd(lost);
    if (!lost.isDone()) {
      return job.exitCode();
    }
    say(String.valueOf(lost.join().getMessage()));
    if (!ended) {
      say("ending the command: SIGTERM now, SIGKILL in " + Text.of(grace));
      job.stop(grace);
    }
    return ExitCode.LOST;
  }

  private void tellRisks(Lease lease) {
    AtomicBoolean atRisk = new AtomicBoolean();
    lease.onEvent(
        event -> {
          if (event instanceof LockEvent.AtRisk risk) {
            atRisk.set(true);
            say(
                "lease of "
                    + quotedName()
                    + " at risk, "
                    + Text.of(risk.remaining())
                    + " left: "
                    + risk.problem().getMessage());
          } else if (event instanceof LockEvent.Renewed && atRisk.getAndSet(false)) {
            say("lease of " + quotedName() + " is renewed again");
          }
        });
  }

  /** What a shell says: whether there is such a program decides between the two exit codes. */
  private CommandFailure cannotStart(IOException failure) {
    String program = command.get(0);
    List<Path> candidates =
        program.contains("/")
            ? List.of(Path.of(program))
            : Stream.of(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator, -1))
                .map(directory -> Path.of(directory, program))
                .toList();
    return candidates.stream().anyMatch(Files::exists)
        ? new CommandFailure(
            ExitCode.NOT_EXECUTABLE, program + " cannot be run; is it an executable file?", failure)
        : new CommandFailure(
            ExitCode.NOT_FOUND, program + " was not found; is it installed and on PATH?", failure);
  }

  private String quotedName() {
    return "\"" + Text.printable(target.name()) + "\"";
  }

  private void verbose(String line) {
    if (verbose) {
      say(line);
    }
  }

  private void say(String line) {
    messages.say(line);
  }
}
