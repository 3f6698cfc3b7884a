package dev.interlock.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * The number of connections that the lock clients of a program keep between requests. They leave at
 * least one connection of a HikariCP pool for all requests. The size of other data sources is not
 * known.
 */
final class PoolShare {

  /** The numbers of kept connections by pool, because several clients may share one. */
  private static final Map<DataSource, AtomicInteger> KEPT = new WeakHashMap<>();

  private final @Nullable HikariDataSource pool;
  private final AtomicInteger kept;

  private PoolShare(@Nullable HikariDataSource pool, AtomicInteger kept) {
    this.pool = pool;
    this.kept = kept;
  }

  /** {@return a share without a limit} */
  static PoolShare unlimited() {
    return new PoolShare(null, new AtomicInteger());
  }

  /** {@return the share of a data source of the program} */
  static PoolShare of(DataSource source) {
    HikariDataSource pool = hikari(source);
    if (pool == null) {
      return unlimited();
    }
    synchronized (KEPT) {
      return new PoolShare(pool, KEPT.computeIfAbsent(pool, p -> new AtomicInteger()));
    }
  }

  private static @Nullable HikariDataSource hikari(DataSource source) {
    try {
      if (source instanceof HikariDataSource pool) {
        return pool;
      }
      return source.isWrapperFor(HikariDataSource.class)
          ? source.unwrap(HikariDataSource.class)
          : null;
    } catch (SQLException | RuntimeException e) {
      return null; // the source cannot tell
    }
  }

  boolean mayHave(int connections) {
    return pool == null || connections <= pool.getMaximumPoolSize();
  }

  /** {@return whether connections may join the transaction of a thread; HikariCP's never do} */
  boolean mayJoinTransactions() {
    return pool == null;
  }

  boolean isClosed() {
    return pool != null && pool.isClosed();
  }

  /**
   * Counts one more kept connection.
   *
   * @param minRemaining the number of connections that must remain in the pool
   * @return false if too few would remain
   */
  boolean take(int minRemaining) {
    boolean taken = mayHave(kept.incrementAndGet() + minRemaining);
    if (!taken) {
      giveBack();
    }
    return taken;
  }

  void giveBack() {
    kept.decrementAndGet();
  }
}
