package dev.interlock.custom;

import dev.interlock.LockException;
import dev.interlock.LockState;
import dev.interlock.spi.Claim;
import dev.interlock.spi.TimeSource;
import java.util.List;
import java.util.function.Supplier;
import redis.clients.jedis.RedisClient;

/**
 * A fault of a backend: a subclass overrides one method. This class itself has no fault.
 *
 * <p>Each client has an instance of its own.
 */
class Fault {

  /** The client's connections and clocks. */
  record Store(RedisClient redis, TimeSource time) {}

  /** {@return the text of a script} */
  String script(Op op, String correct) {
    return correct;
  }

  /** Replaces a part of a script, and fails if the script does not contain it. */
  static String replace(String script, String part, String other) {
    if (!script.contains(part)) {
      throw new IllegalStateException("not in the script: " + part);
    }
    return script.replace(part, other);
  }

  /** {@return the name of a lock on the store} */
  String stored(String name) {
    return name;
  }

  /** {@return the keys of a lock, in the order of {@link Op}} */
  List<String> keys(String stored) {
    return List.of(
        "custom:lock:" + stored,
        "custom:tokens",
        "custom:queue:" + stored,
        "custom:waiters:" + stored);
  }

  /** {@return the identity of an attempt on the store} */
  String id(Claim claim) {
    return claim.id();
  }

  /** {@return the time for which the store keeps a grant} */
  long millis(Op op, Claim claim) {
    return claim.ttl().toMillis();
  }

  /** {@return one more argument of every script, which is looked up before the script is sent} */
  String argument(Op op, Claim claim, Store store) {
    return "";
  }

  /** Sends a script. */
  Object send(Store store, String script, List<String> keys, List<String> arguments) {
    return store.redis().eval(script, keys, arguments);
  }

  /** Asks the store once. Requests without a claim have an empty one. */
  Object ask(Op op, Claim claim, Store store, Supplier<Object> correct) {
    return correct.get();
  }

  /** {@return the failure to report} */
  LockException explained(Op op, LockException correct) {
    return correct;
  }

  /** {@return the state of a lock to show} */
  LockState shown(LockState correct) {
    return correct;
  }

  /** {@return the longest time between two requests of a waiter} */
  long silenceMillis() {
    return CustomQueue.SILENCE.toMillis();
  }

  /** {@return the pause of a waiter between two requests} */
  long pauseMillis() {
    return CustomQueue.PAUSE.toMillis();
  }

  /** Drops everything that is kept for a claim. */
  void forget(Claim claim, Store store) {}

  /** Closes the connections of the client. */
  void close(Store store) {
    store.redis().close();
  }
}
