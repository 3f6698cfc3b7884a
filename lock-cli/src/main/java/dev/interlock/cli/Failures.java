package dev.interlock.cli;

import dev.interlock.LeaseLostException;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockTimeoutException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.LockUri;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * Reports every failure as one line on stderr and an exit code, with --debug also as a stack trace.
 */
final class Failures implements IExecutionExceptionHandler, IParameterExceptionHandler {

  private static final Pattern LINE_BREAKS = Pattern.compile("\\s*\\R\\s*");

  private final BooleanSupplier debug;

  Failures(BooleanSupplier debug) {
    this.debug = debug;
  }

  @Override
  public int handleParseException(ParameterException failure, String[] arguments) {
    CommandLine command = failure.getCommandLine();
    String message = String.valueOf(failure.getMessage());
    if (failure instanceof UnmatchedArgumentException unmatched) {
      message += suggestion(unmatched, command.getCommandSpec());
    }
    return say(
        command,
        message + "; see " + command.getCommandSpec().qualifiedName() + " --help",
        failure,
        ExitCode.USAGE);
  }

  /** Suggests what the user may have meant. */
  private static String suggestion(UnmatchedArgumentException unmatched, CommandSpec spec) {
    if (unmatched.isUnknownOption()) {
      return spec.options().stream()
          .filter(option -> !option.hidden())
          .map(OptionSpec::longestName)
          .collect(Collectors.joining(", ", "; the options are ", ""));
    }
    List<String> suggestions = unmatched.getSuggestions();
    return suggestions.isEmpty() ? "" : "; did you mean " + String.join(" or ", suggestions);
  }

  @Override
  public int handleExecutionException(
      Exception failure, CommandLine command, @Nullable ParseResult parsed) {
    return report(failure, command);
  }

  /** Reports any failure, including errors of the JVM such as a missing class. */
  int report(Throwable failure, CommandLine command) {
    if (failure instanceof ParameterException wrongArgument) {
      return handleParseException(wrongArgument, new String[0]);
    }
    int exitCode = exitCode(failure);
    String message = failure.getMessage() == null ? failure.toString() : failure.getMessage();
    if (exitCode == ExitCode.INTERNAL && !(failure instanceof CommandFailure)) {
      message = "unexpected " + failure + "; please report this bug with the output of --debug";
    }
    return say(command, message, failure, exitCode);
  }

  private static int exitCode(Throwable failure) {
    if (failure instanceof CommandFailure commandFailure) {
      return commandFailure.exitCode();
    } else if (failure instanceof LockConfigurationException
        || failure instanceof ServiceConfigurationError) {
      return ExitCode.USAGE;
    } else if (failure instanceof LockUnavailableException) {
      return ExitCode.UNAVAILABLE;
    } else if (failure instanceof LockTimeoutException) {
      return ExitCode.NOT_ACQUIRED;
    } else if (failure instanceof LeaseLostException) {
      return ExitCode.LOST;
    } else {
      return ExitCode.INTERNAL;
    }
  }

  private int say(CommandLine command, String message, Throwable failure, int exitCode) {
    PrintWriter err = command.getErr();
    err.println("interlock: " + oneLine(message));
    if (debug.getAsBoolean()) {
      StringWriter trace = new StringWriter();
      failure.printStackTrace(new PrintWriter(trace, true));
      trace.toString().lines().map(LockUri::redact).forEach(err::println);
    }
    err.flush();
    return exitCode;
  }

  /** Joins the lines, and hides the secrets of any URI that is part of the message. */
  private static String oneLine(String message) {
    String line = LINE_BREAKS.matcher(message.strip()).replaceAll(" ");
    return LockUri.redact(Text.printable(line));
  }
}
