package dev.interlock.cli;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintWriter;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.RunLast;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;

/** The {@code interlock} command, with the options and the set-up that all subcommands share. */
@Command(
    name = "interlock",
    description = "Distributed locks from the command line.",
    versionProvider = Version.class,
    mixinStandardHelpOptions = true,
    synopsisSubcommandLabel = "COMMAND",
    scope = ScopeType.INHERIT,
    usageHelpAutoWidth = true,
    sortOptions = false,
    subcommands = {
      BackendsCommand.class,
      ElectCommand.class,
      ExecCommand.class,
      InspectCommand.class,
      LeaderCommand.class,
      ListCommand.class,
      ReleaseCommand.class,
      TckCommand.class
    },
    footer = {
      "",
      "A lock URI names the store that keeps the locks, such as redis://localhost:6379 or memory:demo;"
          + " '@|bold interlock backends|@' lists the backends. In place of a URI, env:NAME and"
          + " file:PATH read it from an environment variable or a file, which hides its password from"
          + " other users. Durations are a whole number and a unit: 500ms, 10s, 5m, 2h, 1d.",
      "",
      "An error is one line on stderr. Exit codes: 0 done; 2 wrong usage, URI or setting; 69 the"
          + " store cannot be reached or cannot serve; 70 a bug in interlock."
    })
public final class Main implements Runnable {

  private static final char REPLACEMENT = '\uFFFD';

  @Spec private CommandSpec spec;

  @Option(
      names = "--classpath",
      paramLabel = "PATH",
      split = ":",
      scope = ScopeType.INHERIT,
      description = "Jars or directories with more backends, separated by colons.")
  private List<Path> classPath = new ArrayList<>();

  @Option(
      names = "--debug",
      scope = ScopeType.INHERIT,
      description = "Show stack traces and the log of the library and its drivers.")
  private boolean debug;

  private final ProcessContext process;

  private Main(ProcessContext process) {
    this.process = process;
  }

  /**
   * Runs the command and ends the process.
   *
   * @param arguments see {@code interlock --help}
   */
  public static void main(String[] arguments) {
    System.exit(
        run(
            arguments,
            writer(FileDescriptor.out, StandardCharsets.UTF_8),
            writer(FileDescriptor.err, Charset.defaultCharset()),
            ProcessContext.OWN));
  }

  /** Runs the command, and returns its exit code. */
  static int run(String[] arguments, PrintWriter out, PrintWriter err, ProcessContext process) {
    Main main = new Main(process);
    Failures failures = new Failures(() -> main.debug);
    CommandLine command =
        addLabCommands(new CommandLine(main))
            .addSubcommand(CommandLine.HelpCommand.class)
            .setOut(out)
            .setErr(err)
            // A child's arguments are passed on as they are, including @files and quotes.
            .setExpandAtFiles(false)
            .setExecutionExceptionHandler(failures)
            .setParameterExceptionHandler(failures);
    command.setExecutionStrategy(
        parsed -> {
          main.prepare(arguments);
          return new RunLast().execute(parsed);
        });
    try {
      return command.execute(arguments);
    } catch (Throwable e) { // picocli passes on errors, such as those of the service loader
      return failures.report(e, command);
    } finally {
      command.getOut().flush(); // what goes to stderr is written line by line
    }
  }

  /** Adds the commands that start servers and inject faults, which the published jar lacks. */
  private static CommandLine addLabCommands(CommandLine command) {
    return Main.class.getResource("/dev/interlock/compare/Comparison.class") == null
        ? command
        : command.addSubcommand(CompareCommand.class).addSubcommand(StormCommand.class);
  }

  private static PrintWriter writer(FileDescriptor descriptor, Charset charset) {
    return new PrintWriter(new FileOutputStream(descriptor), true, charset);
  }

  ProcessContext process() {
    return process;
  }

  private void prepare(String[] arguments) {
    for (String argument : arguments) {
      if (argument.indexOf(REPLACEMENT) >= 0) {
        // The JVM has replaced what it could not decode, so two names could become one lock.
        throw new ParameterException(
            spec.commandLine(),
            "an argument contains characters that the locale cannot express ("
                + System.getProperty("sun.jnu.encoding")
                + "); set LC_ALL=C.UTF-8");
      }
    }
    process.configureLog(debug);
    if (!classPath.isEmpty()) {
      ExtraClassPath.install(classPath, spec.commandLine());
    }
  }

  /** Runs if there is no subcommand, which is wrong usage. */
  @Override
  public void run() {
    List<String> names = new ArrayList<>(spec.subcommands().keySet());
    names.remove("help");
    String last = names.remove(names.size() - 1);
    throw new ParameterException(
        spec.commandLine(), "give a command: " + String.join(", ", names) + " or " + last);
  }
}
