package dev.interlock.redis;

import dev.interlock.redis.server.ClientClosedException;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.redis.server.PoolClosedException;
import dev.interlock.spi.Deadline;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.Pool;

/** One server, or the current primary of a Sentinel group. */
final class PooledNodes implements Nodes {

  private final Supplier<? extends Connections> currentPool;
  private final int maxSeparate;
  private final Runnable onAllDropped;
  private final Runnable close;
  private volatile PooledNode current;

  private PooledNodes(
      Supplier<? extends Connections> currentPool,
      int maxSeparate,
      Runnable onAllDropped,
      Runnable close) {
    this.currentPool = currentPool;
    this.maxSeparate = maxSeparate;
    this.onAllDropped = onAllDropped;
    this.close = close;
    this.current = new PooledNode(currentPool.get(), maxSeparate, onAllDropped);
  }

  /** Returns one server, through our pool. */
  static PooledNodes of(LockPool pool) {
    return of(pool, PooledNode.maxSeparate(pool.size()));
  }

  /**
   * Returns one server, through our pool.
   *
   * @param maxSeparate the number of threads that may send requests separately; those of more
   *     threads are joined
   */
  static PooledNodes of(LockPool pool, int maxSeparate) {
    return new PooledNodes(() -> pool, maxSeparate, () -> {}, pool::close);
  }

  /** Returns the primary that the sentinels name, through our pool. */
  static PooledNodes of(SentinelPrimary primary) {
    int maxSeparate = PooledNode.maxSeparate(primary.get().size());
    return new PooledNodes(primary, maxSeparate, primary::checkSoon, primary::close);
  }

  /**
   * Returns the server of a Jedis client of the program, whose pool stays open. Requests are not
   * joined, because such a pool may have no connection to spare.
   *
   * @param currentPool returns the pool to use; a different one after a fail-over
   */
  static PooledNodes ofUser(Supplier<? extends Pool<Connection>> currentPool) {
    ExecutorService returning = ClientPool.returningThreads();
    return new PooledNodes(
        () -> new ClientPool(currentPool.get(), returning),
        PooledNode.NEVER_JOINED,
        () -> {},
        returning::shutdown);
  }

  private PooledNode node() {
    PooledNode node = current;
    return node.pool().equals(currentPool.get()) ? node : next();
  }

  private synchronized PooledNode next() {
    Connections pool = currentPool.get();
    if (!current.pool().equals(pool)) {
      current.closePipeline();
      current = new PooledNode(pool, maxSeparate, onAllDropped);
    }
    return current;
  }

  @Override
  public <T> T call(LockKeys keys, Deadline deadline, boolean repeatable, Talk<T> talk)
      throws InterruptedException {
    return use(deadline, repeatable, talk);
  }

  private <T> T use(Deadline deadline, boolean repeatable, Talk<T> talk)
      throws InterruptedException {
    return onCurrent(node -> node.use(deadline, repeatable, false, talk));
  }

  private interface Use<T> {
    T of(PooledNode node) throws InterruptedException;
  }

  private <T> T onCurrent(Use<T> use) throws InterruptedException {
    PooledNode node = node();
    try {
      return use.of(node);
    } catch (PoolClosedException e) {
      // A Sentinel client closes the pool of the old primary after it has replaced it.
      PooledNode other = node();
      if (other == node) {
        throw node.pool() instanceof ClientPool ? new ClientClosedException(e) : e;
      }
      return use.of(other);
    }
  }

  @Override
  public Object run(Wire.Call call, Deadline deadline) throws InterruptedException {
    return onCurrent(node -> node.run(call, deadline));
  }

  @Override
  public <I> List<Object> callAll(
      List<I> items,
      Function<I, LockKeys> keys,
      Deadline deadline,
      Function<List<I>, Talk<List<Object>>> talk)
      throws InterruptedException {
    try {
      return use(deadline, true, talk.apply(items));
    } catch (JedisException e) {
      return items.stream().<Object>map(item -> e).toList();
    }
  }

  @Override
  public Keys scan(String pattern, @Nullable String cursor, int count, Deadline deadline)
      throws InterruptedException {
    return onCurrent(node -> node.scan(pattern, cursor, count, deadline));
  }

  @Override
  public Connection dedicated() {
    return node().pool().dedicated();
  }

  @Override
  public void close() {
    current.closePipeline();
    close.run();
  }
}
