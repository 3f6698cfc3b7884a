package dev.interlock.compare.rounds;

import dev.interlock.LockClient;
import java.time.Duration;
import java.util.Optional;

/** A client that can wait for a name which is held: a lock, not just a call. */
public interface Locking extends Pairs {

  /** How long an uncontended name may take. */
  Duration PATIENCE = Duration.ofSeconds(10);

  /**
   * Acquires a name, waiting until it is free.
   *
   * @return what releases it, on the same thread; empty if it was not free in time
   * @throws Exception if the store fails
   */
  Optional<? extends AutoCloseable> acquire(String name, Duration atMost) throws Exception;

  @Override
  default void pair(String name) throws Exception {
    acquire(name, PATIENCE)
        .orElseThrow(() -> new IllegalStateException("an uncontended lock was busy"))
        .close();
  }

  /** {@return our lock, with the client's options; closing it closes the client} */
  static Locking by(LockClient client) {
    return new Locking() {
      @Override
      public Optional<? extends AutoCloseable> acquire(String name, Duration atMost)
          throws InterruptedException {
        return client.lock(name).tryAcquire(atMost);
      }

      @Override
      public void close() {
        client.close();
      }
    };
  }
}
