package dev.interlock.redis;

import dev.interlock.redis.server.LockKeys;
import dev.interlock.spi.Deadline;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;

/**
 * The servers on which locks live, and the way to the one that has a given lock. What differs
 * between one Redis, a cluster and a Sentinel group is here, and nowhere else.
 *
 * <p>Everything throws Jedis's exceptions, and {@link InterruptedException} if the thread was
 * interrupted while it waited for a connection, or if the interrupt broke the connection in use (as
 * it does on virtual threads). A connection is lent to one thread at a time, so that no interrupt
 * breaks another caller's.
 */
interface Nodes extends AutoCloseable {

  /** Something to be asked over one connection. May be called again, after a failure. */
  @FunctionalInterface
  interface Talk<T> {
    T over(Wire wire);
  }

  /**
   * Talks to the node that has the keys.
   *
   * @param repeatable whether the talk may be repeated on another connection when the one in use
   *     turns out to be broken, and so be carried out twice
   */
  <T> T call(LockKeys keys, Deadline deadline, boolean repeatable, Talk<T> talk)
      throws InterruptedException;

  /**
   * Runs one script on the node that has its keys. May be carried out twice. It may be sent
   * together with those of other threads; none of them depends on the others then.
   *
   * @return the server's reply
   */
  default Object run(Wire.Call call, Deadline deadline) throws InterruptedException {
    return call(call.keys(), deadline, true, wire -> wire.run(call));
  }

  /**
   * Talks about many locks, to each node about those that it has, to all nodes at the same time. A
   * node that does not answer fails its own items only. May be carried out twice.
   *
   * @param talk yields an answer, or an exception, per item
   * @return an answer, or a {@link RuntimeException}, per item, in their order
   */
  <I> List<Object> callAll(
      List<I> items,
      Function<I, LockKeys> keys,
      Deadline deadline,
      Function<List<I>, Talk<List<Object>>> talk)
      throws InterruptedException;

  /**
   * Some keys.
   *
   * @param next where the next call goes on, or null if there are no more keys
   */
  record Keys(List<byte[]> keys, @Nullable String next) {}

  /**
   * Finds keys on all nodes that have any, one call of {@code SCAN} at a time.
   *
   * @param pattern in the language of {@code MATCH}
   * @param cursor null at first, then what the last call returned
   * @param count about how many keys to look at
   */
  Keys scan(String pattern, @Nullable String cursor, int count, Deadline deadline)
      throws InterruptedException;

  /**
   * Makes a connection of its own, outside of any pool, on which releases can be listened to.
   * Blocks while it connects.
   */
  Connection dedicated();

  @Override
  void close();
}
