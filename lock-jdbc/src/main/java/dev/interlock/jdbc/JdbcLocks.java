package dev.interlock.jdbc;

import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import java.util.Objects;
import javax.sql.DataSource;

/**
 * Locks in a database that the program uses already.
 *
 * <pre>{@code
 * DataSource database = ...; // the pool itself
 * try (LockClient locks = JdbcLocks.using(database)) {
 *   ...
 * }
 * }</pre>
 *
 * <p>The lock client never closes the data source, which has to outlive it. Each request borrows a
 * connection, executes one or two statements, each as a transaction of its own, and returns the
 * connection with the settings that it had. No connection is kept while a lock is held or waited
 * for, except on PostgreSQL: there each client has one that listens for releases while a thread
 * waits.
 *
 * <ul>
 *   <li>Pass the pool itself, not a proxy that hands out the connection of the current transaction:
 *       a lock must not depend on whether that transaction commits.
 *   <li>How long the data source waits for a free connection is its own setting. Make it shorter
 *       than {@link LockOptions#requestTimeout()}, which cannot shorten it, but limits how long the
 *       database may take to answer.
 *   <li>Leave connections for the locks: two or three are enough for hundreds of leases.
 * </ul>
 */
public final class JdbcLocks {

  private JdbcLocks() {}

  /**
   * Opens a client with default settings and options.
   *
   * @param database where the locks are kept: PostgreSQL, MariaDB, MySQL or H2
   * @return a new client
   * @throws LockConfigurationException if the database is another one, refuses the user, lacks the
   *     table and does not permit creating it, or has something else under its name
   * @throws dev.interlock.LockUnavailableException if the database does not answer
   */
  public static LockClient using(DataSource database) {
    return using(database, JdbcSettings.defaults(), LockOptions.defaults());
  }

  /**
   * Opens a client with default settings.
   *
   * @param database where the locks are kept: PostgreSQL, MariaDB, MySQL or H2
   * @param options the defaults for every lock of the client
   * @return a new client
   * @throws LockConfigurationException as {@link #using(DataSource)} does
   * @throws dev.interlock.LockUnavailableException if the database does not answer
   */
  public static LockClient using(DataSource database, LockOptions options) {
    return using(database, JdbcSettings.defaults(), options);
  }

  /**
   * Opens a client with default options.
   *
   * @param database where the locks are kept: PostgreSQL, MariaDB, MySQL or H2
   * @param settings how they are kept
   * @return a new client
   * @throws LockConfigurationException as {@link #using(DataSource)} does
   * @throws dev.interlock.LockUnavailableException if the database does not answer
   */
  public static LockClient using(DataSource database, JdbcSettings settings) {
    return using(database, settings, LockOptions.defaults());
  }

  /**
   * Opens a client.
   *
   * @param database where the locks are kept: PostgreSQL, MariaDB, MySQL or H2
   * @param settings how they are kept
   * @param options the defaults for every lock of the client
   * @return a new client
   * @throws LockConfigurationException as {@link #using(DataSource)} does
   * @throws dev.interlock.LockUnavailableException if the database does not answer
   */
  public static LockClient using(DataSource database, JdbcSettings settings, LockOptions options) {
    Objects.requireNonNull(database, "database");
    Objects.requireNonNull(settings, "settings");
    return LockClient.using(
        context -> BackendOpener.ofProgram(database, settings, context), options);
  }

  /**
   * Returns the statements that create the table, for migration tools. They do nothing if it
   * exists.
   *
   * @param database the database
   * @param settings which table
   * @return one or two statements, each ended by a semicolon and a line break
   */
  public static String schema(JdbcDatabase database, JdbcSettings settings) {
    return String.join(";\n", new Schema(Dialect.of(database), settings).statements()) + ";\n";
  }
}
