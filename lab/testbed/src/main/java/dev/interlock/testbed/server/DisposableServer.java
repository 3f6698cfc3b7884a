package dev.interlock.testbed.server;

import dev.interlock.testbed.process.ServerProcess;
import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.process.Waiting;
import java.io.IOException;
import java.net.ConnectException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * One real server process that may be paused, killed and restarted with its data or without.
 *
 * <pre>{@code
 * try (RedisServer redis = Testbed.redis().start()) {
 *   redis.pause();    // returns when the server no longer answers
 *   redis.resume();   // returns when it answers again
 *   redis.kill();     // returns when it refuses connections
 *   redis.restart();  // same port, same data; returns when it answers
 * }
 * }</pre>
 *
 * <p>Every method checks the effect of its fault before it returns, and throws a {@link
 * TestbedException} if the server does not show it within 30 seconds. The methods that inject a
 * fault into a server that the user named ({@link ServerSource#ENDPOINT}) throw {@link
 * UnsupportedOperationException}; see {@link #acceptsFaults()}.
 *
 * <p>All methods may be called from any thread. Those that change the state of one server exclude
 * each other. An interrupt ends a wait with a {@link TestbedException}, and leaves the interrupt
 * status set.
 */
public abstract class DisposableServer implements AutoCloseable {
  /** The time-out of faults and of starts. */
  public static final Duration LIMIT = Duration.ofSeconds(30);

  /** The time-out of a query. */
  protected static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(5);

  /** The time for which a paused server is checked not to answer. */
  private static final Duration SILENCE_CHECK = Duration.ofMillis(100);

  private static final Duration PROBE_TIMEOUT = Duration.ofSeconds(1);

  /** The state into which the testbed has put a server. */
  public enum State {
    /** The process runs. */
    RUNNING,
    /** The process is stopped: the system accepts connections, but nothing answers. */
    PAUSED,
    /** The process has ended; connections are refused. */
    KILLED,
    /** The server was closed, and cannot be restarted. */
    CLOSED
  }

  /**
   * The process and the resources of a server that the testbed starts.
   *
   * @param wipe removes the server's data while it is down
   * @param release frees the server's directory and ports after its end
   * @param clock the directory of a server with a {@link WrongClock}; null for others
   */
  public record Parts(
      ServerProcess process, Runnable wipe, Runnable release, @Nullable Path clock) {}

  private final String name;
  private final String host;
  private final int port;
  private final String source;
  private final Probe probe;
  private final @Nullable Parts parts;
  private State state;
  private String version = "";

  /**
   * Creates a server, which {@link #start} then starts.
   *
   * @param parts null for a server that the user named, which already runs
   */
  protected DisposableServer(
      String name, String host, int port, String source, Probe probe, @Nullable Parts parts) {
    this.name = name;
    this.host = host;
    this.port = port;
    this.source = source;
    this.probe = probe;
    this.parts = parts;
    this.state = parts == null ? State.RUNNING : State.KILLED;
  }

  /**
   * Starts the server for the first time, and asks for its version. Closes it if that fails.
   *
   * @throws BindConflictException if another program has taken one of its ports
   */
  protected final synchronized void start() {
    try {
      if (parts != null) {
        launch(parts.process);
      }
      version = askVersion();
      if (parts != null && parts.clock != null) {
        WrongClock.verify(this, clockAhead());
      }
    } catch (IOException | RuntimeException e) {
      RuntimeException failure =
          e instanceof RuntimeException unchecked
              ? unchecked
              : new TestbedException(name + " does not report its version: " + e.getMessage(), e);
      try {
        close();
      } catch (RuntimeException alsoFailed) {
        failure.addSuppressed(alsoFailed);
      }
      throw failure;
    }
  }

  /** {@return the version that the server reports, just after its start} */
  protected abstract String askVersion() throws IOException;

  /**
   * {@return the server's time of day, in seconds since 1970}
   *
   * @throws UnsupportedOperationException if the server does not report it
   */
  protected long askTime() throws IOException {
    throw new UnsupportedOperationException(name + " does not report its time");
  }

  /** {@return the name among the servers of the deployment, for example {@code redis-cluster-3}} */
  public final String name() {
    return name;
  }

  /** {@return the address that clients use, {@code 127.0.0.1} for servers of this machine} */
  public final String host() {
    return host;
  }

  /** {@return the port that clients use; it stays the same through kill and restart} */
  public final int port() {
    return port;
  }

  /** {@return the version that the server reports, for example {@code 7.0.15}} */
  public final String version() {
    return version;
  }

  /** {@return the origin, without the version, for example {@code binary /usr/bin/redis-server}} */
  public final String source() {
    return source;
  }

  /** {@return the state into which this object has put the server} */
  public final synchronized State state() {
    return state;
  }

  /**
   * Returns whether the server answers over a new connection.
   *
   * @param limit the time-out
   * @return true also if it answers that it cannot serve, for example without a quorum
   */
  public final boolean answers(Duration limit) {
    try {
      probe.ready(limit);
      return true;
    } catch (IOException silent) {
      return false;
    }
  }

  /**
   * Checks that the server answers, if its state is {@link State#RUNNING}.
   *
   * @param limit the time-out
   * @throws TestbedException if it does not, with the states of its processes and its output
   */
  public final void verifyAnswers(Duration limit) {
    if (parts == null
        || state() != State.RUNNING
        || Waiting.until(limit, () -> answers(PROBE_TIMEOUT))) {
      return;
    }
    throw new TestbedException(
        "%s should run, but does not answer; its processes: %s; its output:%n%s"
            .formatted(name, parts.process.processes(), log()));
  }

  /** {@return whether the testbed may pause, kill, restart and empty this server} */
  public final boolean acceptsFaults() {
    return parts != null;
  }

  /**
   * Stops the server's process (SIGSTOP). Does nothing if it is paused.
   *
   * @throws IllegalStateException if it is killed or closed
   */
  public final synchronized void pause() {
    ServerProcess process = requireParts().process;
    if (state == State.PAUSED) {
      return;
    }
    requireState(State.RUNNING, "paused");
    state = State.PAUSED; // also if only some of its processes can be stopped
    attempt("pause", process::pause);
    if (answers(SILENCE_CHECK)) {
      throw new TestbedException(name + " answers although it is paused");
    }
  }

  /**
   * Continues a paused server, and waits until it answers. Does nothing if it runs.
   *
   * @throws IllegalStateException if it is killed or closed
   */
  public final synchronized void resume() {
    ServerProcess process = requireParts().process;
    if (state == State.RUNNING) {
      return;
    }
    requireState(State.PAUSED, "resumed");
    attempt("resume", process::resume);
    state = State.RUNNING;
    verifyAnswers(LIMIT);
  }

  /**
   * Kills the server (SIGKILL), paused or not. Does nothing if it is killed.
   *
   * @throws IllegalStateException if it is closed
   */
  public final synchronized void kill() {
    ServerProcess process = requireParts().process;
    requireOpen();
    if (state == State.KILLED) {
      return;
    }
    attempt("kill", process::kill);
    state = State.KILLED;
    if (!Waiting.until(LIMIT, this::refuses)) {
      throw new TestbedException(name + " does not refuse connections although it is killed");
    }
  }

  /**
   * Starts the server again on the same port, with the data on its disk, and waits until it
   * answers. Kills it first if it runs. The server's settings decide which data are on disk.
   *
   * @throws IllegalStateException if it is closed
   */
  public final synchronized void restart() {
    kill();
    launch(requireParts().process);
  }

  /**
   * Restarts the server without its data, as after the loss of a disk. A member of an ensemble
   * keeps its identity.
   *
   * @throws IllegalStateException if it is closed
   */
  public final synchronized void restartEmpty() {
    kill();
    requireParts().wipe.run();
    launch(requireParts().process);
  }

  /** {@return whether the server was started with a clock of its own, which can be set} */
  public final boolean canSetClock() {
    return parts != null && parts.clock != null;
  }

  /** {@return how far the server's time of day is ahead of the machine's; zero by default} */
  public final Duration clockAhead() {
    return parts == null || parts.clock == null ? Duration.ZERO : WrongClock.read(parts.clock);
  }

  /**
   * Sets the server's time of day, also for its restarts, but not its monotonic clock. Returns when
   * the server reports the new time.
   *
   * @param ahead the difference to the correct time, in whole seconds; negative for behind
   * @throws UnsupportedOperationException if {@link #canSetClock()} is false
   * @throws TestbedException if the server does not answer, or reports another time
   */
  public final void setClock(Duration ahead) {
    if (parts == null || parts.clock == null) {
      throw new UnsupportedOperationException(name + " was started without a clock of its own");
    }
    WrongClock.set(parts.clock, ahead);
    WrongClock.verify(this, ahead);
  }

  /**
   * Makes the server run again: resumes it, or restarts it with its data.
   *
   * @throws IllegalStateException if it is closed
   */
  public final void heal() {
    switch (state()) {
      case RUNNING -> {}
      case PAUSED -> resume();
      case KILLED -> restart();
      case CLOSED -> requireOpen();
    }
  }

  /** {@return the end of the server's output since its last start; empty for a named endpoint} */
  public final String log() {
    return parts == null ? "" : parts.process.output();
  }

  /** Ends the server, and removes its files. Does nothing to a named endpoint. Idempotent. */
  @Override
  public final synchronized void close() {
    if (parts == null || state == State.CLOSED) {
      return;
    }
    state = State.CLOSED;
    try {
      attempt("end", parts.process::close);
    } finally {
      parts.release.run();
    }
  }

  /** {@return the server's name, address, origin and state; no password} */
  @Override
  public final String toString() {
    return name + " at " + host + ":" + port + " (" + source + ", " + state() + ")";
  }

  private Parts requireParts() {
    if (parts == null) {
      String refusal =
          "%s:%d is an endpoint that you named; the testbed injects faults only into servers that"
              + " it started. Unset the endpoint, or call forFaults()";
      throw new UnsupportedOperationException(refusal.formatted(host, port));
    }
    return parts;
  }

  private void launch(ServerProcess process) {
    attempt("start", process::start);
    state = State.RUNNING;
    boolean ready = Waiting.until(LIMIT, () -> !process.isRunning() || probe.ready(PROBE_TIMEOUT));
    if (!process.isRunning()) {
      state = State.KILLED;
      String output = process.output();
      if (output.toLowerCase(Locale.ROOT).contains("address already in use")) {
        throw new BindConflictException(
            name + " did not start, since its port is in use:\n" + output);
      }
      throw new TestbedException(name + " ended during its start:\n" + output);
    }
    if (!ready) {
      throw new TestbedException(
          name
              + " was not ready within "
              + LIMIT.toSeconds()
              + " s of its start; its output:\n"
              + log());
    }
  }

  private boolean refuses() {
    try {
      probe.ready(PROBE_TIMEOUT);
      return false;
    } catch (ConnectException refused) {
      return true;
    } catch (IOException notYet) {
      return false;
    }
  }

  private void requireState(State expected, String action) {
    requireOpen();
    if (state != expected) {
      throw new IllegalStateException(
          name + " cannot be " + action + " while it is " + state.name().toLowerCase(Locale.ROOT));
    }
  }

  private void requireOpen() {
    if (state == State.CLOSED) {
      throw new IllegalStateException(name + " is closed");
    }
  }

  private interface Action {
    void perform() throws IOException;
  }

  private void attempt(String verb, Action action) {
    try {
      action.perform();
    } catch (IOException e) {
      throw new TestbedException("cannot " + verb + " " + name + ": " + e.getMessage(), e);
    }
  }
}
