package dev.interlock.compare;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The work that is measured: take a lock that nobody else wants, and give it back. */
interface Pairs extends AutoCloseable {

  /** What stands between a waiter and the end of a run whose store has died. */
  Duration PATIENCE = Duration.ofSeconds(5);

  void pair(String name) throws Exception;

  @Override
  void close();

  /** With the lock, as its users have it: fenced and renewed. */
  static Pairs byLock(LockClient client) {
    return new Pairs() {
      @Override
      public void pair(String name) throws InterruptedException {
        Lease lease =
            client
                .lock(name)
                .tryAcquire(PATIENCE)
                .orElseThrow(
                    () -> new IllegalStateException("a lock that nobody else wants was busy"));
        lease.close();
      }

      @Override
      public void close() {
        client.close();
      }
    };
  }

  /** With the bare driver; null if there is none for this store, or it cannot be used. */
  static @Nullable Pairs byDriver(Subject subject, String uri, int threads)
      throws InterruptedException {
    Optional<BareDriver.Session> found = session(subject, uri, threads);
    if (found.isEmpty()) {
      return null;
    }
    BareDriver.Session session = found.get();
    return new Pairs() {
      @Override
      public void pair(String name) throws Exception {
        session.pair(name);
      }

      @Override
      public void close() {
        session.close();
      }
    };
  }

  /** Empty if there is no bare driver for this store, or it cannot be used. */
  static Optional<BareDriver.Session> session(Subject subject, String uri, int threads)
      throws InterruptedException {
    Optional<BareDriver> driver = subject.driver();
    if (driver.isEmpty()) {
      return Optional.empty();
    }
    try {
      return Optional.of(driver.get().open(uri, threads));
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception | LinkageError e) {
      return Optional.empty(); // the locks are what matters, and their failures are told
    }
  }
}
