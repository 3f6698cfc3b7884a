package dev.interlock.testbed.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.testbed.process.ServerProcess;
import dev.interlock.testbed.process.TestbedException;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class DisposableServerTest {

  /** A process of which one part cannot be stopped, and another has been. */
  private static final class HalfStopped implements ServerProcess {
    private boolean running;
    private boolean silent;

    @Override
    public void start() {
      running = true;
    }

    @Override
    public boolean isRunning() {
      return running;
    }

    @Override
    public void pause() throws IOException {
      silent = true;
      throw new IOException("a descendant did not stop");
    }

    @Override
    public void resume() {
      silent = false;
    }

    @Override
    public void kill() {
      running = false;
    }

    @Override
    public String processes() {
      return "12 T, 13 D";
    }

    @Override
    public String output() {
      return "the last line of its log";
    }

    @Override
    public void close() {
      kill();
    }
  }

  private static final class OneServer extends DisposableServer {
    OneServer(HalfStopped process) {
      super(
          "half",
          "127.0.0.1",
          1,
          "test",
          limit -> {
            if (process.silent) {
              throw new SocketTimeoutException();
            }
            return true;
          },
          new Parts(process, () -> {}, () -> {}, null));
      start();
    }

    @Override
    protected String askVersion() {
      return "1";
    }
  }

  @Test
  void aServerThatWasPausedInPartIsResumed() {
    HalfStopped process = new HalfStopped();
    try (OneServer server = new OneServer(process)) {
      assertThrows(TestbedException.class, server::pause);
      assertEquals(DisposableServer.State.PAUSED, server.state());
      server.heal();
      server.verifyAnswers(Duration.ZERO);
    }
  }

  @Test
  void aServerThatFellSilentByItselfIsReportedWithItsProcessesAndItsOutput() {
    HalfStopped process = new HalfStopped();
    try (OneServer server = new OneServer(process)) {
      process.silent = true;
      String report =
          assertThrows(TestbedException.class, () -> server.verifyAnswers(Duration.ZERO))
              .getMessage();
      assertTrue(report.contains("12 T, 13 D"), report);
      assertTrue(report.contains("the last line of its log"), report);
    }
  }
}
