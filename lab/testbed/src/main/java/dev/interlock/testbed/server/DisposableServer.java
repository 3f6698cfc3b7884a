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
 *   redis.pause();    // returns when the server has been seen not to answer
 *   redis.resume();   // returns when it answers again
 *   redis.kill();     // returns when it has been seen to refuse connections
 *   redis.restart();  // same port, same data; returns when it answers
 * }
 * }</pre>
 *
 * <p>Every fault is checked from the server's side before the method returns; one that cannot be
 * confirmed within 30 seconds is a {@link TestbedException}. A server that the user named ({@link
 * Way#ENDPOINT}) cannot be hurt: all methods that would do so throw {@link
 * UnsupportedOperationException}, and {@link #canBeHurt()} tells beforehand.
 *
 * <p>All methods may be called from any thread; those that change the state of one server wait for
 * each other. An interrupt ends a wait with a {@link TestbedException} and leaves the interrupt
 * flag set.
 */
public abstract class DisposableServer implements AutoCloseable {
  /** Limits the wait for the effect of a fault, and for a start. */
  public static final Duration LIMIT = Duration.ofSeconds(30);

  /** How long a query waits for its answer. */
  protected static final Duration ANSWER = Duration.ofSeconds(5);

  /** A paused server is given this long to answer wrongly. */
  private static final Duration SILENCE = Duration.ofMillis(100);

  private static final Duration PROBE = Duration.ofSeconds(1);

  /** What has been done to a server. */
  public enum State {
    /** The testbed has started it and not stopped it. */
    RUNNING,
    /** It stands still: the operating system accepts connections, and nothing answers. */
    PAUSED,
    /** Its process has gone; connections are refused. */
    KILLED,
    /** It was closed and cannot come back. */
    CLOSED
  }

  /**
   * What a server of ours consists of.
   *
   * @param wipe removes the server's data while it is down
   * @param release gives up what the server occupied, after its end
   * @param clock the directory of a server with a {@link WrongClock}; null for others
   */
  public record Parts(
      ServerProcess process, Runnable wipe, Runnable release, @Nullable Path clock) {}

  private final String name;
  private final String host;
  private final int port;
  private final String how;
  private final Probe probe;
  private final @Nullable Parts parts;
  private State state;
  private String version = "";

  /**
   * Describes a server that {@link #start} has yet to start.
   *
   * @param parts null for a server of the user, which runs already
   */
  protected DisposableServer(
      String name, String host, int port, String how, Probe probe, @Nullable Parts parts) {
    this.name = name;
    this.host = host;
    this.port = port;
    this.how = how;
    this.probe = probe;
    this.parts = parts;
    this.state = parts == null ? State.RUNNING : State.KILLED;
  }

  /**
   * Starts the server for the first time and asks for its version; closes it if that fails.
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
              : new TestbedException(name + " does not tell its version: " + e.getMessage(), e);
      try {
        close();
      } catch (RuntimeException alsoFailed) {
        failure.addSuppressed(alsoFailed);
      }
      throw failure;
    }
  }

  /** Asks the server, which has just been started, for its version. */
  protected abstract String askVersion() throws IOException;

  /**
   * Asks the server what time of day it is, in seconds since 1970.
   *
   * @throws UnsupportedOperationException if it does not tell
   */
  protected long askTime() throws IOException {
    throw new UnsupportedOperationException(name + " does not tell the time");
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

  /** {@return the version that the server itself reports, for example {@code 7.0.15}} */
  public final String version() {
    return version;
  }

  /** {@return the origin, without the version, for example {@code binary /usr/bin/redis-server}} */
  public final String how() {
    return how;
  }

  /** {@return what was last done to the server through this object} */
  public final synchronized State state() {
    return state;
  }

  /**
   * Asks the server over a new connection whether it is there.
   *
   * @param limit how long to wait for the answer
   * @return whether it answered; a refusal to serve (still loading, no quorum) is an answer too
   */
  public final boolean answers(Duration limit) {
    try {
      probe.ready(limit);
      return true;
    } catch (IOException silent) {
      return false;
    }
  }

  /** {@return whether this server is ours to pause, kill, restart and empty} */
  public final boolean canBeHurt() {
    return parts != null;
  }

  /**
   * Stops the server where it is (SIGSTOP). Does nothing if it is paused.
   *
   * @throws IllegalStateException if it is killed or closed
   */
  public final synchronized void pause() {
    ServerProcess process = ours().process;
    if (state == State.PAUSED) {
      return;
    }
    requireState(State.RUNNING, "paused");
    attempt("pause", process::pause);
    state = State.PAUSED;
    if (answers(SILENCE)) {
      throw new TestbedException(name + " answers although it is paused");
    }
  }

  /**
   * Continues a paused server, and waits until it answers. Does nothing if it runs.
   *
   * @throws IllegalStateException if it is killed or closed
   */
  public final synchronized void resume() {
    ServerProcess process = ours().process;
    if (state == State.RUNNING) {
      return;
    }
    requireState(State.PAUSED, "resumed");
    attempt("resume", process::resume);
    state = State.RUNNING;
    if (!Waiting.until(LIMIT, () -> answers(PROBE))) {
      throw new TestbedException(
          name + " does not answer after it was resumed; it wrote:\n" + process.output());
    }
  }

  /**
   * Kills the server without notice (SIGKILL), paused or not. Does nothing if it is killed.
   *
   * @throws IllegalStateException if it is closed
   */
  public final synchronized void kill() {
    ServerProcess process = ours().process;
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
   * Starts the server again on the same port with the data it has on disk, and waits until it
   * answers; kills it before if it runs. How much data that is follows from the server's settings.
   *
   * @throws IllegalStateException if it is closed
   */
  public final synchronized void restart() {
    kill();
    launch(ours().process);
  }

  /**
   * As {@link #restart()}, with all of its data gone, as after the loss of a disk. A member keeps
   * what makes it that member of its ensemble.
   *
   * @throws IllegalStateException if it is closed
   */
  public final synchronized void restartEmpty() {
    kill();
    ours().wipe.run();
    launch(ours().process);
  }

  /** {@return whether the time of day can be set: if the server was started with its own clock} */
  public final boolean canSetClock() {
    return parts != null && parts.clock != null;
  }

  /** By how much the server's time of day is ahead of the machine's; zero without its own clock. */
  public final Duration clockAhead() {
    return parts == null || parts.clock == null ? Duration.ZERO : WrongClock.read(parts.clock);
  }

  /**
   * Sets the server's time of day, now and for all of its restarts; its monotonic clock is left
   * alone. Returns when the server itself has told the new time.
   *
   * @param ahead by how much it is to be ahead of the right time, in whole seconds; negative for
   *     behind
   * @throws UnsupportedOperationException if {@link #canSetClock()} is false
   * @throws TestbedException if the server does not answer, or tells another time
   */
  public final void setClock(Duration ahead) {
    if (parts == null || parts.clock == null) {
      throw new UnsupportedOperationException(name + " goes by the machine's clock");
    }
    WrongClock.set(parts.clock, ahead);
    WrongClock.verify(this, ahead);
  }

  /**
   * Brings the server back to running from whatever was done to it: resumes or restarts it, with
   * its data.
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

  /**
   * {@return the end of what the server has written since its last start; empty for a named
   * endpoint}
   */
  public final String log() {
    return parts == null ? "" : parts.process.output();
  }

  /** Ends the server and removes its files. Leaves a named endpoint alone. Idempotent. */
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
    return name + " at " + host + ":" + port + " (" + how + ", " + state() + ")";
  }

  private Parts ours() {
    if (parts == null) {
      String refusal =
          "%s:%d is an endpoint that you named; the testbed hurts only servers that it started."
              + " Unset it, or ask for forFaults()";
      throw new UnsupportedOperationException(refusal.formatted(host, port));
    }
    return parts;
  }

  private void launch(ServerProcess process) {
    attempt("start", process::start);
    state = State.RUNNING;
    boolean ready = Waiting.until(LIMIT, () -> !process.isRunning() || probe.ready(PROBE));
    if (!process.isRunning()) {
      state = State.KILLED;
      String output = process.output();
      if (output.toLowerCase(Locale.ROOT).contains("address already in use")) {
        throw new BindConflictException(name + " found its port taken:\n" + output);
      }
      throw new TestbedException(name + " ended while it was starting:\n" + output);
    }
    if (!ready) {
      throw new TestbedException(
          name + " was not ready within " + LIMIT.toSeconds() + " s of its start:\n" + log());
    }
  }

  private boolean refuses() {
    try {
      probe.ready(PROBE);
      return false;
    } catch (ConnectException refused) {
      return true;
    } catch (IOException notYet) {
      return false;
    }
  }

  private void requireState(State wanted, String fault) {
    requireOpen();
    if (state != wanted) {
      throw new IllegalStateException(
          name + " cannot be " + fault + " while it is " + state.name().toLowerCase(Locale.ROOT));
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
