package dev.interlock.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * How many connections the lock clients of a program keep between requests. They leave at least one
 * of a HikariCP pool to everybody's requests. How many another data source has is not known.
 */
final class PoolShare {

  /** By pool, as several clients may share one. */
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
      return null; // it does not know
    }
  }

  /** {@return whether the pool has as many connections} */
  boolean has(int connections) {
    return pool == null || connections <= pool.getMaximumPoolSize();
  }

  /** {@return whether connections may join the transaction of a thread; HikariCP's never do} */
  boolean mayJoinTransactions() {
    return pool == null;
  }

  /** {@return whether the pool is closed} */
  boolean isClosed() {
    return pool != null && pool.isClosed();
  }

  /**
   * Takes a connection of the share.
   *
   * @param rest how many connections have to be left
   * @return false if too few would be left
   */
  boolean take(int rest) {
    boolean taken = has(kept.incrementAndGet() + rest);
    if (!taken) {
      giveBack();
    }
    return taken;
  }

  void giveBack() {
    kept.decrementAndGet();
  }
}
