package dev.interlock.compare;

import dev.interlock.Acquirable;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.compare.baseline.Pairs;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Function;

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
    return by(client, client::lock);
  }

  /** {@return the read locks of our read-write locks, in the same way} */
  static Locking readersBy(LockClient client) {
    return by(client, name -> client.readWriteLock(name).readLock());
  }

  /**
   * {@return a permit of our semaphores, in the same way}
   *
   * @param limit how many permits each name has
   */
  static Locking permitsBy(LockClient client, int limit) {
    return by(client, name -> client.semaphore(name, limit));
  }

  private static Locking by(LockClient client, Function<String, Acquirable<Lease>> names) {
    return of(client, (name, atMost) -> names.apply(name).tryAcquire(atMost));
  }

  /** Acquires a name, as {@link #acquire} does. */
  @FunctionalInterface
  interface Way {
    /**
     * {@return what releases the name, on the same thread; empty if it was not free in time}
     *
     * @throws Exception if the store fails
     */
    Optional<? extends AutoCloseable> acquire(String name, Duration atMost) throws Exception;
  }

  /** {@return locks that are acquired in some way; closing them closes the client} */
  static Locking of(AutoCloseable client, Way way) {
    return new Locking() {
      @Override
      public Optional<? extends AutoCloseable> acquire(String name, Duration atMost)
          throws Exception {
        return way.acquire(name, atMost);
      }

      @Override
      public void close() throws Exception {
        client.close();
      }
    };
  }
}
