package dev.interlock.jdbc;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.MultiLease;
import dev.interlock.StaleTokenException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.regex.Pattern;

/**
 * Refuses late writes to a database: the fencing token of each lock's latest holder is kept in a
 * table beside the data, and checked in the transaction that writes. The locks may be on any
 * backend.
 *
 * <pre>{@code
 * JdbcFence fence = JdbcFence.create();
 * try (Lease lease = lock.acquire()) {
 *   fence.claim(connection, lease); // before anything is read
 *   connection.commit();
 *   int quantity = read(connection);
 *   connection.commit();
 *   // work, without an open transaction
 *   fence.check(connection, lease); // in the transaction that writes
 *   write(connection, quantity - 1);
 *   connection.commit();
 * }
 * }</pre>
 *
 * <p>A claim raises the fence to the lease's token. From its commit on, the checks of all earlier
 * holders fail. A check locks the fence until its transaction ends, so a later claim waits until
 * what was written after the check is committed or rolled back, and the later holder reads the
 * result. In a transaction that reads and writes, the claim alone is enough: it locks and checks as
 * well.
 *
 * <p>This holds if a claim is the first statement of its transaction, and the data is read after
 * it, on the same database and not on a replica:
 *
 * <ul>
 *   <li>On every database at READ COMMITTED; on PostgreSQL, MariaDB and MySQL also at REPEATABLE
 *       READ and SERIALIZABLE. On H2 higher levels are not tested.
 *   <li>On PostgreSQL a claim or check at REPEATABLE READ or SERIALIZABLE fails with SQLState 40001
 *       if another transaction has used the fence since this one began. Roll back, and repeat the
 *       transaction from its claim.
 *   <li>MariaDB and MySQL take the snapshot of REPEATABLE READ, their default, with the first plain
 *       SELECT. In a transaction that has read before its claim, and in one begun WITH CONSISTENT
 *       SNAPSHOT, what is read may be older than the claim. They also roll a transaction back after
 *       a deadlock (error 1213) or a conflict of snapshots (1020): repeat it from its claim.
 * </ul>
 *
 * <p>If the answer to a commit is lost, use another connection: claim or check again with the same
 * lease, which succeeds while no later holder has claimed and waits until the lost transaction has
 * ended, and then read what is there. A claim of the same token may be repeated at any time.
 *
 * <p>The table has one row per lock, which is never deleted here. You may delete a row whose last
 * claim is older than the longest pause of any process. A holder whose claim was deleted is refused
 * when it checks its token.
 *
 * <p>Tokens of a semaphore's permits, and of readers, must not be claimed: several are valid at
 * once. An instance is immutable and may be used by all threads. Each call uses the connection that
 * it is given, neither commits nor rolls back, and blocks while another transaction has the fence
 * locked, as long as the database and the driver permit. A refused call leaves the transaction
 * open: roll it back.
 */
public final class JdbcFence {

  private static final Pattern TABLE =
      Pattern.compile("([A-Za-z_][A-Za-z0-9_]{0,62}\\.)?[A-Za-z_][A-Za-z0-9_]{0,62}");

  private static final JdbcFence DEFAULT = new JdbcFence("interlock_fence");

  private final String table;

  private JdbcFence(String table) {
    this.table = table;
  }

  /** {@return fences in the table {@code interlock_fence}} */
  public static JdbcFence create() {
    return DEFAULT;
  }

  /**
   * Returns fences in another table. Locks of the same name whose tokens are not comparable, such
   * as those of two backends, need different tables.
   *
   * @param table its name, as in {@code fence} or {@code app.fence}: up to 63 letters, digits and
   *     underscores, not beginning with a digit; used without quotes
   * @return the fences
   * @throws IllegalArgumentException if the name is anything else
   */
  public static JdbcFence inTable(String table) {
    if (!TABLE.matcher(table).matches()) {
      throw new IllegalArgumentException(
          "table must be an SQL name of up to 63 letters, digits and underscores, with or without"
              + " a schema before it, not \""
              + table
              + "\"");
    }
    return new JdbcFence(table);
  }

  /**
   * Returns the statement that creates the table, for tools that migrate schemas.
   *
   * @param connection a connection to a database of the same kind
   * @return one statement, without a semicolon
   * @throws SQLException if the connection is closed
   * @throws UnsupportedOperationException if the database is not supported
   */
  public String ddl(Connection connection) throws SQLException {
    return FenceDialect.of(connection).ddl(table);
  }

  /**
   * Creates the table, unless it exists. Call it before several processes use the table: on
   * PostgreSQL one of two that create it at the same time may fail with SQLState 23505. MariaDB and
   * MySQL commit the connection's transaction.
   *
   * @param connection a connection without an open transaction
   * @throws SQLException if the database refuses
   * @throws UnsupportedOperationException if the database is not supported
   */
  public void createTable(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(ddl(connection));
    }
  }

  /**
   * Claims the token of a lease: raises the fence of the lock to it. For a {@link MultiLease},
   * claims the tokens of all its names. Commit before you work for long, so that a later holder
   * need not wait for this connection.
   *
   * @param connection the program's connection, at the beginning of a transaction
   * @param lease an exclusive lease, or that of a writer
   * @throws StaleTokenException if a later holder has claimed its token
   * @throws LeaseLostException if the lease is known to be lost; nothing was sent
   * @throws IllegalStateException if the lease was released; nothing was sent
   * @throws SQLException if the database fails; after a lost answer, claim again
   * @throws UnsupportedOperationException if the lease has no token, or the database is not
   *     supported
   */
  public void claim(Connection connection, Lease lease) throws SQLException {
    lease.ensureHeld();
    if (lease instanceof MultiLease set) {
      for (String name : set.names()) {
        claim(connection, name, set.fencingToken(name));
      }
    } else {
      claim(connection, lease.name(), lease.fencingToken());
    }
  }

  /**
   * Claims a token that another process has sent.
   *
   * @param connection the program's connection, at the beginning of a transaction
   * @param name the lock's name
   * @param token the token of its lease
   * @throws StaleTokenException if a later holder has claimed its token
   * @throws IllegalArgumentException if the name is empty, or the token not positive
   * @throws SQLException if the database fails; after a lost answer, claim again
   * @throws UnsupportedOperationException if the database is not supported
   */
  public void claim(Connection connection, String name, long token) throws SQLException {
    String key = FenceKey.of(name);
    requirePositive(token);
    Long claimed = FenceDialect.of(connection).claim(connection, table, key, token);
    if (claimed == null || claimed != token) {
      throw new StaleTokenException(name, token, claimed);
    }
  }

  /**
   * Checks that the claim of a lease is the latest, and keeps later claims out until the
   * transaction ends.
   *
   * @param connection the program's connection, in the transaction that writes
   * @param lease a lease whose token was claimed
   * @throws StaleTokenException if a later holder has claimed its token, or this one is not claimed
   * @throws LeaseLostException if the lease is known to be lost; nothing was sent
   * @throws IllegalStateException if the lease was released, or the connection commits each
   *     statement by itself (auto-commit); nothing was sent
   * @throws SQLException if the database fails
   * @throws UnsupportedOperationException if the lease has no token
   */
  public void check(Connection connection, Lease lease) throws SQLException {
    lease.ensureHeld();
    if (lease instanceof MultiLease set) {
      for (String name : set.names()) {
        check(connection, name, set.fencingToken(name));
      }
    } else {
      check(connection, lease.name(), lease.fencingToken());
    }
  }

  /**
   * Checks a token that another process has sent.
   *
   * @param connection the program's connection, in the transaction that writes
   * @param name the lock's name
   * @param token the token of its lease
   * @throws StaleTokenException if a later holder has claimed its token, or this one is not claimed
   * @throws IllegalArgumentException if the name is empty, or the token not positive
   * @throws IllegalStateException if the connection commits each statement by itself (auto-commit);
   *     nothing was sent
   * @throws SQLException if the database fails
   */
  public void check(Connection connection, String name, long token) throws SQLException {
    String key = FenceKey.of(name);
    requirePositive(token);
    if (connection.getAutoCommit()) {
      throw new IllegalStateException(
          "a check protects only writes of the same transaction; call setAutoCommit(false) first");
    }
    if (FenceDialect.touch(connection, table, key, token)) {
      return;
    }
    // A driver that is configured to count changed rows, not matched ones, does not count this row.
    Long claimed = FenceDialect.read(connection, table, key);
    if (claimed == null || claimed != token) {
      throw new StaleTokenException(name, token, claimed);
    }
  }

  private static void requirePositive(long token) {
    if (token <= 0) {
      throw new IllegalArgumentException("a fencing token must be positive, not " + token);
    }
  }
}
