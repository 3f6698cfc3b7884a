package dev.interlock.redlock;

import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;

/** Opens backends without the engine, and calls them as the engine would. */
final class Backends {

  static final TimeSource TIME = TimeSource.system();
  static final Duration TTL = Duration.ofSeconds(30);

  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final String ID_CHARACTERS =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

  private Backends() {}

  static LockBackend open(String uri) {
    return open(uri, TIME);
  }

  static LockBackend open(String uri, TimeSource time) {
    return new RedlockProvider().open(LockUri.parse(uri), context(time));
  }

  static BackendContext context(TimeSource time) {
    return new BackendContext() {
      @Override
      public LockOptions options() {
        // A server that stands still for a while fails no request.
        return LockOptions.builder().requestTimeout(Duration.ofSeconds(20)).build();
      }

      @Override
      public TimeSource time() {
        return time;
      }

      @Override
      public void reportLoss(Claim claim, LossReason reason, String detail) {
        throw new AssertionError("Redis reports no loss on its own");
      }
    };
  }

  static Claim claim(String name) {
    return claim(name, TTL);
  }

  static Claim claim(String name, Duration ttl) {
    return claim(name, Share.EXCLUSIVE, ttl, Duration.ZERO);
  }

  /** A claim of a caller that does not wait. */
  static Claim claim(String name, Share share) {
    return claim(name, share, TTL, Duration.ZERO);
  }

  static Claim claim(String name, Share share, Duration ttl, Duration reservation) {
    StringBuilder id = new StringBuilder();
    for (int i = 0; i < 27; i++) {
      id.append(ID_CHARACTERS.charAt(ThreadLocalRandom.current().nextInt(64)));
    }
    return new Claim(
        name, id.toString(), ttl, true, "host/1/test", System.nanoTime(), share, reservation);
  }

  static Deadline soon() {
    return Deadline.in(TIME, Duration.ofSeconds(20));
  }

  /** Takes a lock that must be free. */
  static Grant take(LockBackend backend, Claim claim) throws InterruptedException {
    Attempt attempt = backend.tryAcquire(claim, soon());
    if (attempt instanceof Attempt.Granted granted) {
      return granted.grant();
    }
    throw new AssertionError(claim + " was not granted: " + attempt);
  }

  /** Takes a lock if it can be had, and undoes the attempt if not, as the engine does. */
  static Optional<Grant> tryTake(LockBackend backend, Claim claim) throws InterruptedException {
    try {
      return backend.tryAcquire(claim, soon()) instanceof Attempt.Granted granted
          ? Optional.of(granted.grant())
          : Optional.empty();
    } catch (LockUnavailableException e) {
      try {
        backend.release(claim, soon());
      } catch (LockUnavailableException again) {
        // The backend goes on trying to deliver it.
      }
      return Optional.empty();
    }
  }

  /** Returns when the condition holds, and fails if it does not within a minute. */
  static void eventually(String what, Callable<Boolean> condition) throws Exception {
    long deadline = System.nanoTime() + LIMIT.toNanos();
    while (!condition.call()) {
      if (System.nanoTime() - deadline > 0) {
        throw new AssertionError("not within " + LIMIT.toSeconds() + " s: " + what);
      }
      Thread.sleep(5);
    }
  }
}
