package dev.interlock.tck;

import dev.interlock.tck.process.ProcessSignals;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;

/**
 * A server of one process, which a command starts, and which listens on one port of this machine.
 * This is enough to test most stores.
 *
 * <pre>{@code
 * new ServerProcess("mystore://127.0.0.1:%d", port -> List.of("mystored", "--port", "" + port));
 * }</pre>
 *
 * <p>It is ready when its port accepts connections. Its output is discarded.
 */
public final class ServerProcess implements Server, ServerNode {
  private static final Duration START_TIMEOUT = Duration.ofSeconds(30);

  private final int port;
  private final String uri;
  private final List<String> command;
  private Process process;

  /**
   * Starts the process on a free port and waits until it listens.
   *
   * @param uriPattern the URI, with {@code %d} in place of the port
   * @param command returns the command line for a port
   * @throws IOException if the process cannot be started, ends, or does not listen within 30 s
   * @throws InterruptedException if the thread is interrupted
   */
  public ServerProcess(String uriPattern, IntFunction<List<String>> command)
      throws IOException, InterruptedException {
    try (ServerSocket probe = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      this.port = probe.getLocalPort();
    }
    this.uri = String.format(Locale.ROOT, uriPattern, port);
    this.command = List.copyOf(command.apply(port));
    this.process = launch();
  }

  private Process launch() throws IOException, InterruptedException {
    Process started =
        new ProcessBuilder(command)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    long end = System.nanoTime() + START_TIMEOUT.toNanos();
    while (!listens()) {
      boolean ended = started.waitFor(5, TimeUnit.MILLISECONDS);
      if (ended || System.nanoTime() - end > 0) {
        started.destroyForcibly();
        throw new IOException(
            "the server "
                + (ended ? "ended before it listened" : "did not listen in time")
                + " on port "
                + port
                + ": "
                + String.join(" ", command));
      }
    }
    return started;
  }

  private boolean listens() {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 1_000);
      // without a listener, a connection may use this port itself and connect to itself
      return socket.getLocalPort() != port;
    } catch (IOException e) {
      return false;
    }
  }

  /** {@return the port that the server listens on} */
  public int port() {
    return port;
  }

  @Override
  public String uri() {
    return uri;
  }

  @Override
  public List<ServerNode> nodes() {
    return ProcessSignals.supported() ? List.of(this) : List.of();
  }

  @Override
  public synchronized void pause() throws IOException, InterruptedException {
    ProcessSignals.stop(process.toHandle());
  }

  @Override
  public synchronized void resume() throws IOException, InterruptedException {
    ProcessSignals.resume(process.toHandle());
  }

  @Override
  public synchronized void kill() {
    ProcessSignals.kill(process.toHandle());
  }

  @Override
  public synchronized void restart() throws IOException, InterruptedException {
    process = launch();
  }

  @Override
  public synchronized void close() {
    kill();
  }
}
