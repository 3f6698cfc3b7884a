package dev.interlock.testbed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.testbed.process.Waiting;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.server.BindConflictException;
import dev.interlock.testbed.server.NoServerException;
import dev.interlock.testbed.server.Way;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class LeavesNothingBehindTest {
  private static final Duration LIMIT = Duration.ofSeconds(30);

  /** Where a server listens and where it keeps its files. */
  private record Trace(int port, Path directory) {
    static Trace of(RedisServer redis) throws IOException {
      List<?> directory = (List<?>) redis.call("CONFIG", "GET", "dir");
      return new Trace(redis.port(), Path.of(String.valueOf(directory.get(1))));
    }

    boolean isThere() {
      return listens() || Files.exists(directory.getParent());
    }

    private boolean listens() {
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        return socket.isConnected();
      } catch (IOException refused) {
        return false;
      }
    }
  }

  @Test
  void aClosedServerHasNoProcessAndNoDirectory() throws IOException {
    List<Trace> traces = new ArrayList<>();
    try (RedisServer running = Testbed.redis().using(Way.BINARY).start();
        RedisServer paused = Testbed.redis().using(Way.BINARY).start();
        RedisServer killed = Testbed.redis().using(Way.BINARY).start()) {
      traces.addAll(List.of(Trace.of(running), Trace.of(paused), Trace.of(killed)));
      for (Trace trace : traces) {
        assertTrue(trace.isThere());
      }
      paused.pause();
      killed.kill();
    }
    for (Trace trace : traces) {
      assertFalse(trace.isThere(), trace.toString());
    }
    assertEquals(List.of(), ProcessHandle.current().descendants().toList());
  }

  @Test
  void aServerThatFailedToStartHasNoProcessAndNoDirectory() throws IOException {
    try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      NoServerException e =
          assertThrows(
              NoServerException.class,
              () ->
                  Testbed.redis().using(Way.BINARY).config("port " + other.getLocalPort()).start());
      assertTrue(
          e.getSuppressed()[0] instanceof BindConflictException, "what was met is told: " + e);
    }
    assertEquals(List.of(), ProcessHandle.current().descendants().toList());
  }

  @Test
  void closingTwiceIsFineAndAClosedServerCannotComeBack() {
    RedisServer redis = Testbed.redis().using(Way.BINARY).start();
    redis.close();
    redis.close();
    assertThrows(IllegalStateException.class, redis::restart);
    assertThrows(IllegalStateException.class, redis::heal);
  }

  @Test
  void aJvmThatEndsWithoutClosingTakesItsServersAlong() throws Exception {
    try (JvmWithServers jvm = JvmWithServers.start(Way.BINARY)) {
      jvm.endNormally();
      jvm.expectNothingLeft();
    }
  }

  @Test
  void aJvmThatIsKilledTakesItsServersAlong() throws Exception {
    try (JvmWithServers jvm = JvmWithServers.start(Way.BINARY)) {
      jvm.kill();
      jvm.expectNothingLeft();
    }
  }

  @Test
  @Tag("extended")
  void aJvmThatIsKilledTakesItsContainersAlong() throws Exception {
    Docker.requireRedis();
    try (JvmWithServers jvm = JvmWithServers.start(Way.DOCKER)) {
      jvm.kill();
      jvm.expectNothingLeft();
    }
  }

  /** A JVM that starts a server, pauses another, and ends when its standard input does. */
  static final class JvmWithServers implements AutoCloseable {
    private final Process process;
    private final List<Trace> traces = new ArrayList<>();

    private JvmWithServers(Process process) {
      this.process = process;
    }

    public static void main(String[] arguments) throws IOException {
      Way way = Way.valueOf(arguments[0]);
      RedisServer running = Testbed.redis().using(way).start();
      RedisServer paused = Testbed.redis().using(way).start();
      for (RedisServer redis : List.of(running, paused)) {
        Trace trace = Trace.of(redis);
        System.out.println(trace.port() + " " + trace.directory());
      }
      paused.pause();
      System.out.println("ready");
      System.in.readAllBytes();
    }

    static JvmWithServers start(Way way) throws IOException {
      Process process =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-cp",
                  System.getProperty("java.class.path"),
                  JvmWithServers.class.getName(),
                  way.name())
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      JvmWithServers jvm = new JvmWithServers(process);
      BufferedReader out = process.inputReader();
      for (String line = out.readLine(); !"ready".equals(line); line = out.readLine()) {
        String[] words = line.split(" ", 2);
        jvm.traces.add(new Trace(Integer.parseInt(words[0]), Path.of(words[1])));
      }
      for (Trace trace : jvm.traces) {
        assertTrue(trace.isThere());
      }
      return jvm;
    }

    void endNormally() throws IOException, InterruptedException {
      process.getOutputStream().close();
      assertTrue(process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS));
    }

    void kill() throws InterruptedException {
      process.destroyForcibly();
      assertTrue(process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS));
    }

    void expectNothingLeft() {
      assertEquals(2, traces.size());
      for (Trace trace : traces) {
        assertTrue(Waiting.until(LIMIT, () -> !trace.isThere()), trace + " is still there");
      }
    }

    @Override
    public void close() {
      process.destroyForcibly();
    }
  }
}
