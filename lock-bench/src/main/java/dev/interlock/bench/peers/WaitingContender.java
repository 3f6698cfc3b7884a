package dev.interlock.bench.peers;

import java.time.Duration;
import java.util.Optional;

/** A client that can wait for a name that somebody else has: a lock, and no mere call. */
interface WaitingContender extends Contender {

  /** How long a name that nobody else wants may take. */
  Duration PATIENCE = Duration.ofSeconds(10);

  /**
   * Takes a name, and waits for it if need be.
   *
   * @return what gives it back, by the same thread; empty if it was not to be had in that time
   * @throws Exception if the store fails
   */
  Optional<? extends AutoCloseable> acquire(String name, Duration atMost) throws Exception;

  @Override
  default void pair(String name) throws Exception {
    Optional<? extends AutoCloseable> held = acquire(name, PATIENCE);
    if (held.isEmpty()) {
      throw new IllegalStateException("a name that nobody else wants was not to be had");
    }
    held.get().close();
  }
}
