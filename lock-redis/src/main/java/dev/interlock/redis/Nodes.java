package dev.interlock.redis;

import dev.interlock.redis.server.LockKeys;
import dev.interlock.spi.Deadline;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;

/**
 * The servers that keep the locks. The implementations contain all differences between one Redis, a
 * cluster, and a Sentinel group.
 *
 * <p>All methods throw Jedis's exceptions. They throw {@link InterruptedException} if the thread
 * was interrupted while it waited for a connection, or if the interrupt broke the connection in
 * use, as it does on virtual threads. A connection is lent to one thread at a time, so an interrupt
 * never breaks the connection of another caller.
 */
interface Nodes extends AutoCloseable {

  /** One or more requests over one connection. May be called again after a failure. */
  @FunctionalInterface
  interface Talk<T> {
    T over(Wire wire);
  }

  /**
   * Talks to the node that has the keys.
   *
   * @param repeatable whether the talk may be repeated over another connection when the first turns
   *     out to be broken, so that its requests may be executed twice
   */
  <T> T call(LockKeys keys, Deadline deadline, boolean repeatable, Talk<T> talk)
      throws InterruptedException;

  /**
   * Runs one script on the node that has its keys, perhaps twice. May send it together with the
   * requests of other threads; the failure of one request does not affect the others.
   *
   * @return the server's reply
   */
  default Object run(Wire.Call call, Deadline deadline) throws InterruptedException {
    return call(call.keys(), deadline, true, wire -> wire.run(call));
  }

  /**
   * Talks to all nodes at the same time, to each about its own locks. A node that does not answer
   * fails its own items only. The talk may be executed twice.
   *
   * @param talk returns an answer, or an exception, for each item
   * @return an answer, or a {@link RuntimeException}, for each item, in their order
   */
  <I> List<Object> callAll(
      List<I> items,
      Function<I, LockKeys> keys,
      Deadline deadline,
      Function<List<I>, Talk<List<Object>>> talk)
      throws InterruptedException;

  /**
   * One page of keys.
   *
   * @param next the cursor for the next call, or null if there are no more keys
   */
  record Keys(List<byte[]> keys, @Nullable String next) {}

  /**
   * Finds keys on all primaries, one after the other.
   *
   * @param pattern the pattern, as for {@code MATCH}
   * @param cursor null at first, then the {@link Keys#next} of the last call
   * @param count about how many keys to look at
   */
  Keys scan(String pattern, @Nullable String cursor, int count, Deadline deadline)
      throws InterruptedException;

  /** Opens a connection outside of any pool, to listen to releases. Blocks while it connects. */
  Connection dedicated();

  @Override
  void close();
}
