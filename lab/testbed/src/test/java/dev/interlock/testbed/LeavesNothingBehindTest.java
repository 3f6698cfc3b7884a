package dev.interlock.testbed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.testbed.database.PostgresServer;
import dev.interlock.testbed.process.Waiting;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.server.BindConflictException;
import dev.interlock.testbed.server.NoServerException;
import dev.interlock.testbed.server.ServerSource;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class LeavesNothingBehindTest {
  private static final Duration LIMIT = Duration.ofSeconds(30);

  /** The port and the directory of a server. */
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
    try (RedisServer running = Testbed.redis().using(ServerSource.BINARY).start();
        RedisServer paused = Testbed.redis().using(ServerSource.BINARY).start();
        RedisServer killed = Testbed.redis().using(ServerSource.BINARY).start()) {
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
                  Testbed.redis()
                      .using(ServerSource.BINARY)
                      .config("port " + other.getLocalPort())
                      .start());
      assertTrue(
          e.getSuppressed()[0] instanceof BindConflictException, "what was met is told: " + e);
    }
    assertEquals(List.of(), ProcessHandle.current().descendants().toList());
  }

  @Test
  void closingTwiceIsFineAndAClosedServerCannotComeBack() {
    RedisServer redis = Testbed.redis().using(ServerSource.BINARY).start();
    redis.close();
    redis.close();
    assertThrows(IllegalStateException.class, redis::restart);
    assertThrows(IllegalStateException.class, redis::heal);
  }

  @Test
  void aJvmThatEndsWithoutClosingTakesItsServersAlong() throws Exception {
    try (JvmWithServers jvm = JvmWithServers.start(ServerSource.BINARY)) {
      jvm.endNormally();
      jvm.expectNothingLeft();
    }
  }

  @Test
  void aJvmThatIsKilledTakesItsServersAlong() throws Exception {
    try (JvmWithServers jvm = JvmWithServers.start(ServerSource.BINARY)) {
      jvm.kill();
      jvm.expectNothingLeft();
    }
  }

  @Test
  @Tag("extended")
  void aJvmThatIsKilledTakesItsContainersAlong() throws Exception {
    Docker.requireRedis();
    try (JvmWithServers jvm = JvmWithServers.start(ServerSource.DOCKER)) {
      jvm.kill();
      jvm.expectNothingLeft();
    }
  }

  /** PostgreSQL has a process for each connection, and a stopped one notices nothing. */
  @Test
  void aKilledJvmTakesTheProcessesOfAPausedDatabaseAlong() throws Exception {
    try (JvmWithServers jvm = JvmWithServers.start(ServerSource.BINARY, "database")) {
      List<ProcessHandle> processes =
          jvm.traces.stream()
              .map(trace -> trace.directory().resolve("postmaster.pid"))
              .flatMap(LeavesNothingBehindTest::processes)
              .toList();
      assertTrue(processes.size() > 4, () -> "" + processes);
      jvm.kill();
      jvm.expectNothingLeft();
      assertTrue(
          Waiting.until(LIMIT, () -> processes.stream().noneMatch(ProcessHandle::isAlive)),
          () -> "still there: " + processes);
    }
  }

  private static Stream<ProcessHandle> processes(Path file) {
    try (Stream<String> lines = Files.lines(file)) {
      ProcessHandle first =
          ProcessHandle.of(Long.parseLong(lines.findFirst().orElseThrow())).orElseThrow();
      return Stream.concat(Stream.of(first), first.descendants());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
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
      ServerSource source = ServerSource.valueOf(arguments[0]);
      if (arguments.length > 1) {
        PostgresServer database = Testbed.postgresql().using(source).start();
        System.out.println(
            database.port() + " " + database.query("SHOW data_directory").get(0).get(0));
        database.pause();
        System.out.println("ready");
        System.in.readAllBytes();
        return;
      }
      RedisServer running = Testbed.redis().using(source).start();
      RedisServer paused = Testbed.redis().using(source).start();
      for (RedisServer redis : List.of(running, paused)) {
        Trace trace = Trace.of(redis);
        System.out.println(trace.port() + " " + trace.directory());
      }
      paused.pause();
      System.out.println("ready");
      System.in.readAllBytes();
    }

    static JvmWithServers start(ServerSource source, String... more) throws IOException {
      List<String> command = new ArrayList<>();
      command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
      command.addAll(List.of("-cp", System.getProperty("java.class.path")));
      command.addAll(List.of(JvmWithServers.class.getName(), source.name()));
      command.addAll(List.of(more));
      Process process =
          new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
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
      assertFalse(traces.isEmpty());
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
