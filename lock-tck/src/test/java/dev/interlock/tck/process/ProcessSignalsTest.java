package dev.interlock.tck.process;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

class ProcessSignalsTest {

  private static final int ROUNDS = 500;

  /** A program whose threads constantly end. */
  static final class Restless {
    private Restless() {}

    public static void main(String[] arguments) throws InterruptedException {
      System.out.println("ready");
      while (true) {
        Thread brief = new Thread(() -> {});
        brief.start();
        brief.join();
      }
    }
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void threadsThatEndDoNotDisturbStoppingAndContinuing() throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                Restless.class.getName())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try {
      process.getInputStream().read(); // it has begun
      for (int i = 0; i < ROUNDS; i++) {
        ProcessSignals.stop(process.toHandle());
        ProcessSignals.resume(process.toHandle());
      }
    } finally {
      ProcessSignals.kill(process.toHandle());
    }
  }
}
