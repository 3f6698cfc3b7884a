package dev.interlock.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.cli.Interlock.Result;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.OptionalInt;

/** A run of the command that is under way. */
abstract class Run {
  private final Output out = new Output();
  private final Output err = new Output();

  final Output out() {
    return out;
  }

  final Output err() {
    return err;
  }

  /** {@return the identifier of the process that the command runs in} */
  abstract long pid();

  abstract boolean isAlive();

  /** Sends a signal, by its name without SIG. */
  abstract void signal(String name) throws IOException, InterruptedException;

  /** {@return the standard input, which the child inherits} */
  abstract OutputStream input();

  /** Waits for the exit code. */
  abstract OptionalInt exitCode(Duration limit) throws InterruptedException;

  /** Ends the command and its children, if they have not ended. */
  abstract void end();

  /** Writes a line to the standard input. */
  final void type(String line) throws IOException {
    input().write((line + "\n").getBytes(UTF_8));
    input().flush();
  }

  final Result await() throws InterruptedException {
    int exitCode =
        exitCode(Duration.ofMinutes(2))
            .orElseThrow(
                () ->
                    new AssertionError(
                        "the command is still running; stderr so far: " + err.soFar()));
    return new Result(exitCode, out.all(), err.all());
  }

  static void kill(Process process) {
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
  }
}
