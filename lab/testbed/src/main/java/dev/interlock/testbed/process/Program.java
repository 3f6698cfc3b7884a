package dev.interlock.testbed.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs programs that end by themselves. */
public final class Program {
  private Program() {}

  /**
   * Runs a program to its end.
   *
   * @throws IOException if it cannot be started, takes longer than a minute, or fails; the message
   *     shows its output
   * @throws TestbedException if the thread is interrupted; its interrupt status is set again
   */
  public static void run(List<String> command) throws IOException {
    Path output = Files.createTempFile("interlock-testbed-", ".log");
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      if (!process.waitFor(1, TimeUnit.MINUTES) || process.exitValue() != 0) {
        throw new IOException(command.get(0) + " failed: " + Files.readString(output).strip());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TestbedException("interrupted while " + command.get(0) + " ran", e);
    } finally {
      process.destroyForcibly();
      Files.delete(output);
    }
  }
}
