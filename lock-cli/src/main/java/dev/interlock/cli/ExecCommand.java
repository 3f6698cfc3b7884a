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
import dev.interlock.spi.ClientParameters;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.UriParameter;
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
import java.util.function.Consumer;
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
      "interlock exec [--wait D] [--ttl D] [--min-hold D] [--grace D]",
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
      "@|bold Environment of the command:|@",
      "  INTERLOCK_NAME   the lock's name",
      "  INTERLOCK_TOKEN  the fencing token, higher than that of every earlier",
      "                   holder; not set if the backend has none",
      "  INTERLOCK_EXEC   marks the descendants of the command; exec does not wait",
      "                   for a process that is started without it",
      "",
      "@|bold Exit codes:|@",
      "  that of the command, or 128 + n if signal n ended it",
      "    2  wrong usage, URI or setting",
      "   69  the store cannot be reached or cannot serve",
      "   75  the lock could not be acquired in time",
      "   76  the lease was lost while the command ran",
      "  126  the command exists but cannot be run",
      "  127  there is no such command",
      "",
      "@|bold Signals:|@ SIGINT, SIGTERM and SIGHUP are passed on to the command, and the lock is"
          + " kept until it has ended. During the rest of --min-hold they free the lock at once."
          + " While exec waits for the lock they end the wait, with exit code 128 + n.",
      "",
      "@|bold Limits:|@ if interlock itself is killed (SIGKILL), the command goes on while nothing"
          + " renews its lease, and another may acquire the lock after the TTL. If the machine or"
          + " this process stops for longer than the TTL, the command learns of the loss late."
          + " Where that matters, pass INTERLOCK_TOKEN to the store that the command writes to,"
          + " before it reads and with each write, and let the store refuse a token lower than the"
          + " highest that it has seen."
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
      description = "How long the store keeps the lock without a renewal. Default: 30s.")
  private @Nullable Duration ttl;

  @Option(
      names = "--min-hold",
      paramLabel = "D",
      converter = DurationConverter.class,
      description =
          "How long the lock stays taken at least. If the command ends earlier, exec keeps running"
              + " and holds the lock until then. For short jobs that several machines start by their"
              + " clocks. Default: no minimum.")
  private @Nullable Duration minHold;

  @Option(
      names = "--grace",
      paramLabel = "D",
      defaultValue = "10s",
      converter = DurationConverter.class,
      description =
          "The time between SIGTERM and SIGKILL when the lease is lost. Default:"
              + " ${DEFAULT-VALUE}.")
  @SuppressWarnings("NullAway.Init") // set by picocli
  private Duration grace;

  @Option(
      names = {"-v", "--verbose"},
      description = "Show on stderr when exec waits for the lock, acquires it and releases it.")
  private boolean verbose;

  private final Messages messages = new Messages(() -> target.command().getErr());

  @Override
  public Integer call() throws InterruptedException {
    LockOptions options = options();
    SignalRelay signals = SignalRelay.install();
    try (messages;
        LockClient client = target.open(options)) {
      DistributedLock lock = target.onName(client::lock);
      verbose("waiting for " + target.quotedName() + " at " + client.endpoint());
      Lease lease = acquire(lock, client);
      verbose("acquired " + target.quotedName());
      return runHolding(lease, client, signals);
    } catch (RuntimeException | InterruptedException e) {
      // A signal interrupts this thread; an interrupt may arrive here as any exception.
      Optional<TerminationSignal> signal = signals.received();
      if (signal.isPresent()) {
        return signal.get().exitCode();
      }
      throw e;
    }
  }

  private LockOptions options() {
    LockOptions.Builder options = LockOptions.builder();
    set("--ttl", ttl, ClientParameters.TTL, options::ttl);
    set("--min-hold", minHold, ClientParameters.MIN_HOLD, options::minHold);
    return options.build();
  }

  private void set(
      String option,
      @Nullable Duration value,
      UriParameter<Duration> parameter,
      Consumer<Duration> setter) {
    if (value == null) {
      return;
    }
    if (LockUri.parse(target.uri()).get(parameter).isPresent()) {
      throw new ParameterException(
          target.command(), option + " is given by the URI as well; give it once");
    }
    try {
      setter.accept(value);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(target.command(), option + ": " + e.getMessage(), e);
    }
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
                ExitCode.NOT_ACQUIRED,
                "could not acquire lock "
                    + target.quotedName()
                    + (limit.isZero() ? "" : " within " + Text.of(limit))
                    + holder(client)));
  }

  /** Describes who holds the lock, if the store knows. */
  private String holder(LockClient client) {
    try {
      LockState state = client.inspect(target.name());
      return state.holder().map(holder -> ": held by " + Text.printable(holder)).orElse("");
    } catch (LockException e) {
      return "";
    }
  }

  private int runHolding(Lease lease, LockClient client, SignalRelay signals) {
    try (lease) { // releases if the command cannot be started
      Optional<TerminationSignal> signal = signals.received();
      int exitCode = signal.isPresent() ? signal.get().exitCode() : runJob(lease, client, signals);
      // Only a lease that is still reachable is renewed.
      return switch (lease.release()) {
        case RELEASED, HANDED_OFF -> {
          verbose("released " + target.quotedName());
          yield exitCode;
        }
        case DEFERRED -> {
          keep(client, signals);
          yield exitCode;
        }
        case UNKNOWN -> {
          say(
              "the release of "
                  + target.quotedName()
                  + " was not confirmed; it is free within "
                  + Text.of(lease.effectiveTtl()));
          yield exitCode;
        }
        case ALREADY_LOST -> {
          if (exitCode != ExitCode.LOST) {
            say(
                target.quotedName()
                    + " was already lost when it was to be released; another may have held it while"
                    + " the command ran");
          }
          yield ExitCode.LOST;
        }
      };
    }
  }

  /** Keeps the lock until its minimum hold has passed, or a signal comes. */
  private void keep(LockClient client, SignalRelay signals) {
    signals.jobEnded();
    verbose("the command has ended; " + target.quotedName() + " is kept for its minimum hold");
    client.close(client.options().minHold().orElse(Duration.ZERO));
    verbose("released " + target.quotedName());
  }

  /** Runs the command; returns when it and all that it started have ended. */
  private int runJob(Lease lease, LockClient client, SignalRelay signals) {
    Map<String, String> environment = new HashMap<>();
    environment.put(NAME_VARIABLE, target.name());
    if (client.backend().has(Capability.FENCING)) {
      environment.put(TOKEN_VARIABLE, Long.toString(lease.fencingToken()));
    }
    Job job;
    try {
      // Without its own token, the command must not inherit that of an outer lock.
      job = signals.start(() -> Job.start(command, environment, Set.of(TOKEN_VARIABLE), this::say));
    } catch (IOException e) {
      throw cannotStart(e);
    }
    try {
      signals.passOn();
      return supervise(job, lease);
    } catch (RuntimeException | Error e) {
      // A bug here must not free the lock while the command is still at work.
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
                    + target.quotedName()
                    + " at risk, "
                    + Text.of(risk.remaining())
                    + " left: "
                    + risk.problem().getMessage());
          } else if (event instanceof LockEvent.Renewed && atRisk.getAndSet(false)) {
            say("lease of " + target.quotedName() + " is renewed again");
          }
        });
  }

  /** As in a shell, the exit code shows whether the program exists. */
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

  private void verbose(String line) {
    if (verbose) {
      say(line);
    }
  }

  private void say(String line) {
    messages.say(line);
  }
}
