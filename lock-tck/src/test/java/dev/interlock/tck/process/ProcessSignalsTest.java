package dev.interlock.tck.process;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Proxy;
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

  @Test
  @EnabledOnOs(OS.LINUX)
  void theNumberOfAnEndedProcessMayBelongToAnother() throws Exception {
    Process other = new ProcessBuilder("sleep", "60").start();
    try {
      ProcessHandle ended =
          (ProcessHandle)
              Proxy.newProxyInstance(
                  getClass().getClassLoader(),
                  new Class<?>[] {ProcessHandle.class},
                  (proxy, method, arguments) ->
                      method.getName().equals("isAlive") ? (Object) false : (Object) other.pid());
      String refusal =
          assertThrows(IOException.class, () -> ProcessSignals.stop(ended)).getMessage();
      assertTrue(refusal.contains("has ended"), refusal);
      assertFalse(ProcessSignals.isStopped(other.pid()));
    } finally {
      other.destroyForcibly();
    }
  }
}
