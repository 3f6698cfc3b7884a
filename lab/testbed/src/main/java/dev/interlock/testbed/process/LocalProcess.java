package dev.interlock.testbed.process;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A server that runs as a child process of this JVM, with the processes that it starts. Not
 * thread-safe.
 */
public final class LocalProcess implements ServerProcess {
  private static final int OUTPUT_LIMIT = 16_384;
  private static final Path SETSID = Path.of("/usr/bin/setsid");

  private final Workspace workspace;
  private final List<String> command;
  private final Map<String, String> environment;
  private final Path directory;
  private final Path log;
  private @Nullable Process process;

  /** Stopped descendants, which would outlive the process. */
  private List<ProcessHandle> stopped = List.of();

  private long logStart;

  public LocalProcess(
      Workspace workspace, List<String> command, Map<String, String> environment, Path directory) {
    this.workspace = workspace;
    this.command = List.copyOf(command);
    this.environment = Map.copyOf(environment);
    this.directory = directory;
    this.log = directory.resolve("output.log");
  }

  /** {@return whether this system has POSIX signals, which pausing needs} */
  public static boolean isSupported() {
    return !System.getProperty("os.name", "").toLowerCase(Locale.ROOT).contains("windows");
  }

  @Override
  public void start() throws IOException {
    if (isRunning()) {
      throw new IllegalStateException("the process is already running: " + command);
    }
    kill(); // forgets the number of one that has ended by itself
    logStart = Files.exists(log) ? Files.size(log) : 0;
    ProcessBuilder builder =
        new ProcessBuilder(inItsOwnSession(command))
            .directory(directory.toFile())
            .redirectInput(Redirect.from(new File("/dev/null")))
            .redirectErrorStream(true)
            .redirectOutput(Redirect.appendTo(log.toFile()));
    builder.environment().putAll(environment);
    Process started = builder.start();
    process = started;
    workspace.register(started.pid());
  }

  /**
   * Runs the command in a session of its own, if there is a setsid. So Control-C, which a terminal
   * sends to the whole process group, does not end the server before the program that uses it. The
   * process keeps its number, since setsid forks only in a group leader.
   */
  private static List<String> inItsOwnSession(List<String> command) {
    if (!Files.isExecutable(SETSID)) {
      return command;
    }
    List<String> inSession = new ArrayList<>();
    inSession.add(SETSID.toString());
    inSession.addAll(command);
    return inSession;
  }

  @Override
  public boolean isRunning() {
    return process != null && process.isAlive();
  }

  @Override
  public void pause() throws IOException {
    signal(
        tree -> {
          stopped = tree.stop();
          stopped.forEach(each -> workspace.register(each.pid()));
        });
  }

  @Override
  public void resume() throws IOException {
    signal(ProcessTree::resume);
    forgetStopped();
  }

  @Override
  public void kill() throws IOException {
    if (process != null) {
      new ProcessTree(process.toHandle()).kill();
      forgetStopped();
      workspace.unregister(process.pid());
      process = null;
    }
  }

  private void forgetStopped() {
    stopped.forEach(each -> workspace.unregister(each.pid()));
    stopped = List.of();
  }

  @Override
  public String processes() {
    return process == null ? "none" : new ProcessTree(process.toHandle()).states();
  }

  @Override
  public String output() {
    if (!Files.exists(log)) {
      return "";
    }
    try (RandomAccessFile file = new RandomAccessFile(log.toFile(), "r")) {
      long from = Math.max(logStart, file.length() - OUTPUT_LIMIT);
      byte[] bytes = new byte[(int) (file.length() - from)];
      file.seek(from);
      file.readFully(bytes);
      return new String(bytes, StandardCharsets.UTF_8);
    } catch (IOException e) {
      return "(its output cannot be read: " + e + ")";
    }
  }

  @Override
  public void close() throws IOException {
    kill();
  }

  private interface Signal {
    void send(ProcessTree tree) throws IOException, InterruptedException;
  }

  private void signal(Signal signal) throws IOException {
    if (process == null || !process.isAlive()) {
      throw new IOException("the process has already ended: " + command);
    }
    try {
      signal.send(new ProcessTree(process.toHandle()));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while signalling process " + process.pid(), e);
    }
  }
}
