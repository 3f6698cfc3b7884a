package dev.interlock.redis;

import dev.interlock.redis.server.LockKeys;
import dev.interlock.spi.Deadline;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;

/**
 * The servers on which locks live, and the way to the server of a given lock. The implementations
 * hold all that differs between one Redis, a cluster and a Sentinel group.
 *
 * <p>All methods throw Jedis's exceptions, and {@link InterruptedException} if the thread was
 * interrupted while it waited for a connection, or if the interrupt broke the connection in use (as
 * it does on virtual threads). A connection is lent to one thread at a time, so no interrupt breaks
 * another caller's connection.
 */
interface Nodes extends AutoCloseable {

  /** Requests over one connection. May be called again after a failure. */
  @FunctionalInterface
  interface Talk<T> {
    T over(Wire wire);
  }

  /**
   * Talks to the node that has the keys.
   *
   * @param repeatable whether the talk may be repeated on another connection when the first turns
   *     out to be broken, and so be carried out twice
   */
  <T> T call(LockKeys keys, Deadline deadline, boolean repeatable, Talk<T> talk)
      throws InterruptedException;

  /**
   * Runs one script on the node that has its keys, perhaps twice. May send it together with the
   * requests of other threads, without making any of them depend on another.
   *
   * @return the server's reply
   */
  default Object run(Wire.Call call, Deadline deadline) throws InterruptedException {
    return call(call.keys(), deadline, true, wire -> wire.run(call));
  }

  /**
   * Talks to all nodes at the same time, to each about the locks that it has. A node that does not
   * answer fails its own items only. May be carried out twice.
   *
   * @param talk returns an answer, or an exception, per item
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
   * @param next the cursor for the next call, or null if there are no more keys
   */
  record Keys(List<byte[]> keys, @Nullable String next) {}

  /**
   * Finds keys on all primaries, with one {@code SCAN} per call.
   *
   * @param pattern in the language of {@code MATCH}
   * @param cursor null at first, then the last call's {@link Keys#next}
   * @param count about how many keys to look at
   */
  Keys scan(String pattern, @Nullable String cursor, int count, Deadline deadline)
      throws InterruptedException;

  /** Makes a connection outside of any pool, to listen to releases. Blocks while it connects. */
  Connection dedicated();

  @Override
  void close();
}
