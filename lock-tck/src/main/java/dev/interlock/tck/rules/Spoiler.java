package dev.interlock.tck.rules;

import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.fault.RedisError;
import dev.interlock.tck.fault.RedisErrors;
import java.time.Duration;
import java.util.function.IntFunction;

/**
 * What stands between a client and the store, and spoils an answer when it is told to.
 *
 * @param uri where the client connects to
 * @param how what becomes of the answer, as failures describe it
 * @param spoils begins to spoil one answer, after the given number of others has passed
 */
record Spoiler(String uri, String how, IntFunction<Spoil> spoils) {

  /** Cuts the connection instead of letting the answer pass. */
  static Spoiler losing(Network network) {
    return new Spoiler(
        network.uri(),
        "lost",
        earlier -> {
          Disturbance lost = network.everywhere(proxy -> proxy.loseAnswer(earlier));
          return new Spoil(lost::awaitHit, lost::close);
        });
  }

  /** Answers by an error, and does not let the request pass. */
  static Spoiler refusing(RedisErrors way, RedisError error, int count) {
    return new Spoiler(
        way.uri(),
        "replaced by " + error,
        earlier -> {
          RedisErrors.Spoiled spoiled = way.answer(error, earlier, count);
          return new Spoil(spoiled::awaitHit, spoiled::close);
        });
  }

  /** Spoils one answer, on every way to the store, after so many others have passed. */
  Spoil spoil(int earlier) {
    return spoils.apply(earlier);
  }

  /** An answer that is to be spoiled; closed when it need not be any more. */
  record Spoil(Hit hit, Runnable end) implements AutoCloseable {

    /** Waits until the answer was spoiled, and returns whether that was in time. */
    interface Hit {
      boolean await(Duration limit) throws InterruptedException;
    }

    boolean awaitHit(Duration limit) throws InterruptedException {
      return hit.await(limit);
    }

    @Override
    public void close() {
      end.run();
    }
  }
}
