package dev.interlock.custom;

import dev.interlock.LockException;
import dev.interlock.LockState;
import dev.interlock.spi.Claim;
import dev.interlock.spi.TimeSource;
import java.util.List;
import java.util.function.Supplier;
import redis.clients.jedis.RedisClient;

/**
 * What a backend may get wrong: a subclass overrides one method. As it is, all is right.
 *
 * <p>There is one for each client.
 */
class Fault {

  /** The client's connections and clocks. */
  record Store(RedisClient redis, TimeSource time) {}

  /** The text of a script. */
  String script(Op op, String right) {
    return right;
  }

  /** Replaces a part of a script, which has to be there. */
  static String replace(String script, String part, String other) {
    if (!script.contains(part)) {
      throw new IllegalStateException("not in the script: " + part);
    }
    return script.replace(part, other);
  }

  /** What locks are called on the store. */
  String stored(String name) {
    return name;
  }

  /** The keys of a lock, as {@link Op} lists them. */
  List<String> keys(String stored) {
    return List.of(
        "custom:lock:" + stored,
        "custom:tokens",
        "custom:queue:" + stored,
        "custom:waiters:" + stored);
  }

  /** The identity of an attempt on the store. */
  String id(Claim claim) {
    return claim.id();
  }

  /** How long the store keeps a grant. */
  long millis(Op op, Claim claim) {
    return claim.ttl().toMillis();
  }

  /** One more argument of every script, looked up before it is sent. */
  String argument(Op op, Claim claim, Store store) {
    return "";
  }

  /** Sends a script. */
  Object send(Store store, String script, List<String> keys, List<String> arguments) {
    return store.redis().eval(script, keys, arguments);
  }

  /** Asks the store once. Where there is no claim, it is one of nobody's. */
  Object ask(Op op, Claim claim, Store store, Supplier<Object> right) {
    return right.get();
  }

  /** How a failure is reported. */
  LockException explained(Op op, LockException right) {
    return right;
  }

  /** What is shown of a lock. */
  LockState shown(LockState right) {
    return right;
  }

  /** How long a waiter may be silent. */
  long silenceMillis() {
    return CustomQueue.SILENCE.toMillis();
  }

  /** How long a waiter pauses between two questions. */
  long pauseMillis() {
    return CustomQueue.PAUSE.toMillis();
  }

  /** Drops what is kept for a claim. */
  void forget(Claim claim, Store store) {}

  /** Ends what the client has. */
  void close(Store store) {
    store.redis().close();
  }
}
