package dev.interlock.compare;

import java.util.logging.Level;
import java.util.logging.Logger;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The command line of {@code tools/bench}. */
@Command(
    name = "tools/bench",
    mixinStandardHelpOptions = true,
    subcommands = {PeersCommand.class, Weight.class, Soak.class})
public final class BenchCommand {
  private static final Logger GRPC = Logger.getLogger("io.grpc");

  private BenchCommand() {}

  /** Runs a command and exits with its exit code. */
  public static void main(String[] words) {
    GRPC.setLevel(Level.WARNING);
    System.exit(commandLine().execute(words)); // the threads of drivers may keep running
  }

  static CommandLine commandLine() {
    return new CommandLine(new BenchCommand())
        .setExecutionExceptionHandler(
            (failure, command, words) -> {
              if (failure instanceof IllegalArgumentException) {
                command.getErr().println(command.getCommandName() + ": " + failure.getMessage());
                return command.getCommandSpec().exitCodeOnInvalidInput();
              }
              throw failure;
            });
  }
}
