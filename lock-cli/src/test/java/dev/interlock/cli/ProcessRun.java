package dev.interlock.cli;

import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;

/** A run in a process of its own. */
final class ProcessRun extends Run {
  private final Process process;

  ProcessRun(Process process) {
    this.process = process;
    out().read(process.getInputStream(), "out of " + process.pid());
    err().read(process.getErrorStream(), "err of " + process.pid());
  }

  @Override
  long pid() {
    return process.pid();
  }

  @Override
  boolean isAlive() {
    return process.isAlive();
  }

  @Override
  void signal(String name) throws IOException, InterruptedException {
    int exitCode =
        new ProcessBuilder("sh", "-c", "kill -s " + name + " " + process.pid()).start().waitFor();
    if (exitCode != 0) {
      throw new AssertionError("SIG" + name + " could not be sent");
    }
  }

  @Override
  OutputStream input() {
    return process.getOutputStream();
  }

  @Override
  OptionalInt exitCode(Duration limit) throws InterruptedException {
    return process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)
        ? OptionalInt.of(process.exitValue())
        : OptionalInt.empty();
  }

  @Override
  void end() {
    kill(process);
  }
}
