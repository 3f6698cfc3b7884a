package dev.interlock.cli;

import dev.interlock.Capability;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockEvent;
import dev.interlock.LockOptions;
import dev.interlock.spi.ClientParameters;
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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Runs a program while a lease is held, and ends it when the lease is lost. */
final class GuardedCommand implements AutoCloseable {

  /**
   * The end of a run.
   *
   * @param exitCode the program's own, unless the lease was lost
   * @param lost whether the lease was lost before the program and all that it started had ended
   */
  record End(int exitCode, boolean lost) {
    static final End LOST = new End(ExitCode.LOST, true);
  }

  private static final String NAME_VARIABLE = "INTERLOCK_NAME";
  private static final String TOKEN_VARIABLE = "INTERLOCK_TOKEN";

  private final LockTarget target;
  private final Messages messages;

  @Option(
      names = "--ttl",
      paramLabel = "D",
      converter = DurationConverter.class,
      description = "How long the store keeps the lock without a renewal. Default: 30s.")
  private @Nullable Duration ttl;

  @Option(
      names = "--grace",
      paramLabel = "D",
      defaultValue = "10s",
      converter = DurationConverter.class,
      description =
          "The time between SIGTERM and SIGKILL when the lease is lost. Default:"
              + " ${DEFAULT-VALUE}.")
  private Duration grace;

  @Option(
      names = {"-v", "--verbose"},
      description = "Report on stderr waiting for, acquiring and releasing the lock.")
  private boolean verbose;

  GuardedCommand(LockTarget target) {
    this.target = target;
    this.messages = new Messages(() -> target.command().getErr());
  }

  LockOptions.Builder lockOptions() {
    LockOptions.Builder options = LockOptions.builder();
    target.set("--ttl", ttl, ClientParameters.TTL, options::ttl);
    return options;
  }

  /**
   * Runs the program unless a signal has arrived, and releases the lease when the program and all
   * that it started have ended.
   */
  End run(List<String> command, Lease lease, LockClient client, SignalRelay signals) {
    try (lease) { // releases if the command cannot be started
      Optional<TerminationSignal> signal = signals.received();
      End end =
          signal.isPresent()
              ? new End(signal.get().exitCode(), false)
              : runJob(command, lease, client, signals);
      // This use of the lease keeps it reachable until here; only reachable leases are renewed.
      return switch (lease.release()) {
        case RELEASED, HANDED_OFF -> {
          verbose("released " + target.quotedName());
          yield end;
        }
        case DEFERRED -> {
          awaitMinimumHold(client, signals);
          yield end;
        }
        case UNKNOWN -> {
          say(
              "the store did not confirm the release of %s; the lock is free within %s"
                  .formatted(target.quotedName(), Text.of(lease.effectiveTtl())));
          yield end;
        }
        case ALREADY_LOST -> {
          if (!end.lost()) {
            say(
                target.quotedName()
                    + " was lost before its release; another client may have held it while the command"
                    + " ran");
          }
          yield End.LOST;
        }
      };
    }
  }

  /**
   * Holds the lock until its minimum hold has passed or a signal arrives. Returns at once if a
   * SIGTERM arrived earlier, or if the store itself keeps the lock.
   */
  private void awaitMinimumHold(LockClient client, SignalRelay signals) {
    signals.onJobEnd();
    verbose("the command has ended; " + target.quotedName() + " is kept for its minimum hold");
    client.close(
        signals.isTerminated() ? Duration.ZERO : client.options().minHold().orElse(Duration.ZERO));
  }

  /** Runs the command. Returns when it and all that it started have ended. */
  private End runJob(List<String> command, Lease lease, LockClient client, SignalRelay signals) {
    if (!lease.isHeld()) {
      say("lease of " + target.quotedName() + " was lost before the command started");
      return End.LOST;
    }
    Map<String, String> environment = new HashMap<>();
    environment.put(NAME_VARIABLE, target.name());
    if (client.backend().has(Capability.FENCING)) {
      environment.put(TOKEN_VARIABLE, Long.toString(lease.fencingToken()));
    }
    Job job;
    try {
      // A backend without tokens sets none; then the command must not inherit an outer lock's.
      job =
          signals.start(
              () ->
                  Job.start(
                      command, environment, Set.of(TOKEN_VARIABLE), this::say, target.process()));
    } catch (IOException e) {
      throw cannotStart(command.get(0), e);
    }
    try {
      signals.passOnEarlySignal();
      return supervise(job, lease);
    } catch (RuntimeException | Error e) {
      // A bug here must not free the lock while the command is still running.
      job.childEnded().join();
      throw e;
    }
  }

  private End supervise(Job job, Lease lease) {
    reportRisks(lease);
    CompletableFuture<LeaseLostException> lost = lease.onLoss();
    boolean ended = job.awaitEnd(lost);
    if (!lost.isDone()) {
      return new End(job.exitCode(), false);
    }
    say(String.valueOf(lost.join().getMessage()));
    if (!ended) {
      say("ending the command: SIGTERM now, SIGKILL in " + Text.of(grace));
      job.stop(grace);
    }
    return End.LOST;
  }

  private void reportRisks(Lease lease) {
    AtomicBoolean atRisk = new AtomicBoolean();
    lease.onEvent(
        event -> {
          if (event instanceof LockEvent.AtRisk risk) {
            atRisk.set(true);
            say(
                "lease of %s is at risk, with %s of validity left: %s"
                    .formatted(
                        target.quotedName(),
                        Text.of(risk.remaining()),
                        risk.failure().getMessage()));
          } else if (event instanceof LockEvent.Renewed && atRisk.getAndSet(false)) {
            say("lease of " + target.quotedName() + " was renewed again");
          }
        });
  }

  /** Chooses the exit code as a shell does: it shows whether the program exists. */
  private CommandFailure cannotStart(String program, IOException failure) {
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

  /** Shows a line to the user if {@code --verbose} is given. */
  void verbose(String line) {
    if (verbose) {
      say(line);
    }
  }

  void say(String line) {
    messages.say(line);
  }

  /** Waits for the last messages. */
  @Override
  public void close() {
    messages.close();
  }
}
