package dev.interlock.redis;

import dev.interlock.redis.server.ClientClosedException;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.redis.server.PoolClosedException;
import dev.interlock.spi.Deadline;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.Pool;

/** One server, or the current primary of a Sentinel group. */
final class PooledNodes implements Nodes {

  private final Supplier<? extends Pool<Connection>> currentPool;
  private final @Nullable BrokenConnections broken;
  private final Runnable doubt;
  private final Runnable close;
  private final JoinedRequests joined;
  private volatile PooledNode current;

  private PooledNodes(
      Supplier<? extends Pool<Connection>> currentPool,
      @Nullable BrokenConnections broken,
      int few,
      int connections,
      Runnable doubt,
      Runnable close) {
    this.currentPool = currentPool;
    this.broken = broken;
    this.doubt = doubt;
    this.close = close;
    this.current = new PooledNode(currentPool.get(), broken, doubt);
    this.joined =
        new JoinedRequests(
            new JoinedRequests.Route() {
              @Override
              public <T> T use(Deadline deadline, Talk<T> talk) throws InterruptedException {
                return PooledNodes.this.use(deadline, true, talk);
              }
            },
            few,
            connections);
  }

  /** One server, through our pool. */
  static PooledNodes of(LockPool pool) {
    return of(pool, JoinedRequests.few(pool.size()));
  }

  /**
   * One server, through our pool.
   *
   * @param few how many threads may send requests at the same time before these are joined
   */
  static PooledNodes of(LockPool pool, int few) {
    return new PooledNodes(() -> pool, null, few, pool.size(), () -> {}, pool::close);
  }

  /** The primary that the sentinels name, through our pool. */
  static PooledNodes of(SentinelPrimary primary) {
    int size = primary.get().size();
    int few = JoinedRequests.few(size);
    return new PooledNodes(primary, null, few, size, primary::doubt, primary::close);
  }

  /**
   * The pool of a client that the program made, which stays open. Requests are not joined, because
   * we do not know what an interrupt does to its sockets.
   *
   * @param currentPool returns the pool to use; another one after a fail-over
   */
  static PooledNodes ofUser(Supplier<? extends Pool<Connection>> currentPool) {
    BrokenConnections broken = new BrokenConnections();
    return new PooledNodes(currentPool, broken, JoinedRequests.NEVER, 0, () -> {}, broken::close);
  }

  private PooledNode node() {
    PooledNode node = current;
    Pool<Connection> pool = currentPool.get();
    if (node.pool() != pool) {
      node = new PooledNode(pool, broken, doubt);
      current = node;
    }
    return node;
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
      // Sentinel's client closes the old primary's pool after it has put the new one in its place.
      PooledNode other = node();
      if (other == node) {
        throw broken == null ? e : new ClientClosedException(e);
      }
      return use.of(other);
    }
  }

  @Override
  public Object run(Wire.Call call, Deadline deadline) throws InterruptedException {
    return joined.run(call, deadline);
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
    return node().dedicated();
  }

  @Override
  public void close() {
    joined.close();
    close.run();
  }
}
