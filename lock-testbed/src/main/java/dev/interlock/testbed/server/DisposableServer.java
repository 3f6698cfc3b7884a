package dev.interlock.testbed.server;

import dev.interlock.testbed.process.TestbedException;
import java.time.Duration;

/**
 * One real server process that may be hurt: paused, killed, restarted with its data or without.
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
public interface DisposableServer extends AutoCloseable {

  /** What has been done to a server. */
  enum State {
    /** It runs, as far as the testbed's own doing goes. */
    RUNNING,
    /** It stands still: connections are taken by the operating system, and nothing answers. */
    PAUSED,
    /** Its process has gone; connections are refused. */
    KILLED,
    /** It was closed and cannot come back. */
    CLOSED
  }

  /** What this server is among those of its deployment, for example {@code redis-cluster-3}. */
  String name();

  /** The address that clients use, {@code 127.0.0.1} for servers of this machine. */
  String host();

  /** The port that clients use. It stays the same through kill and restart. */
  int port();

  /** The version that the server itself reports, for example {@code 7.0.15}. */
  String version();

  /**
   * How this server was got, without its version, for example {@code binary /usr/bin/redis-server}.
   */
  String how();

  /** What was last done to the server through this object. */
  State state();

  /**
   * Asks the server over a new connection whether it is there.
   *
   * @param limit how long to wait for the answer
   * @return whether it answered; a refusal to serve (still loading, no quorum) is an answer too
   */
  boolean answers(Duration limit);

  /** Whether this server is ours to pause, kill, restart and empty. */
  boolean canBeHurt();

  /**
   * Stops the server where it is (SIGSTOP, or a paused container). Does nothing if it is paused.
   *
   * @throws IllegalStateException if it is killed or closed
   */
  void pause();

  /**
   * Lets a paused server go on, and waits until it answers. Does nothing if it runs.
   *
   * @throws IllegalStateException if it is killed or closed
   */
  void resume();

  /**
   * Kills the server without its notice (SIGKILL), paused or not. Does nothing if it is killed.
   *
   * @throws IllegalStateException if it is closed
   */
  void kill();

  /**
   * Starts the server again on the same port with the data it has on disk, and waits until it
   * answers; kills it before if it runs. How much data that is follows from the server's settings.
   *
   * @throws IllegalStateException if it is closed
   */
  void restart();

  /**
   * As {@link #restart()}, with all of its data gone, as after the loss of a disk. A member keeps
   * what makes it that member of its ensemble.
   *
   * @throws IllegalStateException if it is closed
   */
  void restartEmpty();

  /**
   * Brings the server back to running from whatever was done to it: resumes or restarts it, with
   * its data.
   *
   * @throws IllegalStateException if it is closed
   */
  default void heal() {
    switch (state()) {
      case RUNNING -> {}
      case PAUSED -> resume();
      case KILLED -> restart();
      case CLOSED -> throw new IllegalStateException(name() + " is closed");
    }
  }

  /** The end of what the server has written since its last start; empty for a named endpoint. */
  String log();

  /** Ends the server and removes its files. A named endpoint is left alone. Idempotent. */
  @Override
  void close();
}
