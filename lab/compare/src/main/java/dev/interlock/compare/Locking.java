package dev.interlock.compare;

import dev.interlock.Acquirable;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.compare.baseline.Cycler;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Function;

/** A client that can wait for a name that is held: a lock, not just a call. */
public interface Locking extends Cycler {

  /** The time within which an uncontended name must be acquired. */
  Duration UNCONTENDED_TIMEOUT = Duration.ofSeconds(10);

  /**
   * Acquires a name, waiting if necessary.
   *
   * @return a handle that releases the name on the same thread; empty if the time ran out
   * @throws Exception if the store fails
   */
  Optional<? extends AutoCloseable> acquire(String name, Duration atMost) throws Exception;

  @Override
  default void cycle(String name) throws Exception {
    acquire(name, UNCONTENDED_TIMEOUT)
        .orElseThrow(() -> new IllegalStateException("a lock that nobody else uses was held"))
        .close();
  }

  /** {@return our locks with the options of the client; closing the result closes the client} */
  static Locking locks(LockClient client) {
    return acquirables(client, client::lock);
  }

  /** {@return the read locks of our read-write locks; closing the result closes the client} */
  static Locking readLocks(LockClient client) {
    return acquirables(client, name -> client.readWriteLock(name).readLock());
  }

  /**
   * {@return permits of our semaphores; closing the result closes the client}
   *
   * @param limit the number of permits of each name
   */
  static Locking permits(LockClient client, int limit) {
    return acquirables(client, name -> client.semaphore(name, limit));
  }

  private static Locking acquirables(LockClient client, Function<String, Acquirable<Lease>> names) {
    return of(client, (name, atMost) -> names.apply(name).tryAcquire(atMost));
  }

  /** Acquires a name, as {@link #acquire} does. */
  @FunctionalInterface
  interface Acquirer {
    /**
     * {@return a handle that releases the name on the same thread; empty if the time ran out}
     *
     * @throws Exception if the store fails
     */
    Optional<? extends AutoCloseable> acquire(String name, Duration atMost) throws Exception;
  }

  /** {@return locks that an acquirer acquires; closing the result closes the client} */
  static Locking of(AutoCloseable client, Acquirer acquirer) {
    return new Locking() {
      @Override
      public Optional<? extends AutoCloseable> acquire(String name, Duration atMost)
          throws Exception {
        return acquirer.acquire(name, atMost);
      }

      @Override
      public void close() throws Exception {
        client.close();
      }
    };
  }
}
