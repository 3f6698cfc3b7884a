package dev.interlock.tck.rules;

import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.fault.RedisError;
import dev.interlock.tck.fault.RedisErrors;
import java.time.Duration;
import java.util.function.IntFunction;

/**
 * A proxy between a client and the store that can spoil an answer.
 *
 * @param uri where the client connects to
 * @param how what happens to the answer, for failure messages
 * @param spoils starts to spoil one answer, after the given number of earlier ones has passed
 */
record Spoiler(String uri, String how, IntFunction<Spoil> spoils) {

  /** {@return a proxy that cuts the connection instead of passing the answer} */
  static Spoiler losing(Network network) {
    return new Spoiler(
        network.uri(),
        "lost",
        earlier -> {
          Disturbance lost = network.everywhere(proxy -> proxy.loseAnswer(earlier));
          return new Spoil(lost::awaitHit, lost::close);
        });
  }

  /** {@return a proxy that answers with an error and does not forward the request} */
  static Spoiler refusing(RedisErrors way, RedisError error, int count) {
    return new Spoiler(
        way.uri(),
        "replaced by " + error,
        earlier -> {
          RedisErrors.Spoiled spoiled = way.answer(error, earlier, count);
          return new Spoil(spoiled::awaitHit, spoiled::close);
        });
  }

  /** Spoils one answer on every proxy, after the given number of earlier ones has passed. */
  Spoil spoil(int earlier) {
    return spoils.apply(earlier);
  }

  /** A pending spoiled answer; closing it ends the fault. */
  record Spoil(Hit hit, Runnable end) implements AutoCloseable {

    /** Waits until the answer was spoiled, and returns whether that happened in time. */
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
