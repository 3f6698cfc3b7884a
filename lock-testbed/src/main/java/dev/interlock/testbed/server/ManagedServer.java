package dev.interlock.testbed.server;

import dev.interlock.testbed.process.ServerProcess;
import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.process.Waiting;
import dev.interlock.testbed.server.DisposableServer.State;
import java.io.IOException;
import java.net.ConnectException;
import java.time.Duration;
import java.util.Locale;

/**
 * The life of one server of ours: which fault follows which, each confirmed by asking the server.
 */
public final class ManagedServer implements ServerControl {
  public static final Duration LIMIT = Duration.ofSeconds(30);

  /** A paused server is given this long to answer wrongly. */
  private static final Duration SILENCE = Duration.ofMillis(100);

  private static final Duration ANSWER = Duration.ofSeconds(1);

  private final String name;
  private final ServerProcess process;
  private final Probe probe;
  private final Runnable wipe;
  private final Runnable release;
  private State state = State.KILLED;

  /**
   * A server that has not been started.
   *
   * @param wipe removes the server's data while it is down
   * @param release gives up what the server occupied, after its end
   */
  public ManagedServer(
      String name, ServerProcess process, Probe probe, Runnable wipe, Runnable release) {
    this.name = name;
    this.process = process;
    this.probe = probe;
    this.wipe = wipe;
    this.release = release;
  }

  /**
   * Starts the server for the first time; it is closed if that fails.
   *
   * @throws BindConflictException if another program has taken one of its ports
   */
  public synchronized void start() {
    try {
      launch();
    } catch (RuntimeException e) {
      try {
        close();
      } catch (RuntimeException alsoFailed) {
        e.addSuppressed(alsoFailed);
      }
      throw e;
    }
  }

  @Override
  public boolean canBeHurt() {
    return true;
  }

  @Override
  public synchronized State state() {
    return state;
  }

  private boolean answers(Duration limit) {
    try {
      probe.ready(limit);
      return true;
    } catch (IOException silent) {
      return false;
    }
  }

  @Override
  public synchronized void pause() {
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

  @Override
  public synchronized void resume() {
    if (state == State.RUNNING) {
      return;
    }
    requireState(State.PAUSED, "resumed");
    attempt("resume", process::resume);
    state = State.RUNNING;
    awaitAnswer("after it was resumed");
  }

  @Override
  public synchronized void kill() {
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

  @Override
  public synchronized void restart() {
    kill();
    launch();
  }

  @Override
  public synchronized void restartEmpty() {
    kill();
    wipe.run();
    launch();
  }

  @Override
  public String log() {
    return process.output();
  }

  @Override
  public synchronized void close() {
    if (state == State.CLOSED) {
      return;
    }
    state = State.CLOSED;
    try {
      attempt("end", process::close);
    } finally {
      release.run();
    }
  }

  private void launch() {
    attempt("start", process::start);
    state = State.RUNNING;
    boolean ready = Waiting.until(LIMIT, () -> !process.isRunning() || probe.ready(ANSWER));
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

  private void awaitAnswer(String when) {
    if (!Waiting.until(LIMIT, () -> answers(ANSWER))) {
      throw new TestbedException(
          name + " does not answer " + when + "; it wrote:\n" + process.output());
    }
  }

  private boolean refuses() {
    try {
      probe.ready(ANSWER);
      return false;
    } catch (ConnectException refused) {
      return true;
    } catch (IOException notYet) {
      return false;
    }
  }

  private void requireState(State wanted, String deed) {
    requireOpen();
    if (state != wanted) {
      throw new IllegalStateException(
          name + " cannot be " + deed + " while it is " + state.name().toLowerCase(Locale.ROOT));
    }
  }

  private void requireOpen() {
    if (state == State.CLOSED) {
      throw new IllegalStateException(name + " is closed");
    }
  }

  private interface Deed {
    void perform() throws IOException;
  }

  private void attempt(String verb, Deed deed) {
    try {
      deed.perform();
    } catch (IOException e) {
      throw new TestbedException("cannot " + verb + " " + name + ": " + e.getMessage(), e);
    }
  }
}
