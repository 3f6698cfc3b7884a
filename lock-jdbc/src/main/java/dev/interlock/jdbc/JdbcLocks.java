package dev.interlock.jdbc;

import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import java.util.Objects;
import javax.sql.DataSource;

/**
 * Opens lock clients on a data source of the program's own.
 *
 * <pre>{@code
 * DataSource database = ...; // the pool itself
 * try (LockClient locks = JdbcLocks.using(database)) {
 *   ...
 * }
 * }</pre>
 *
 * <p>The lock client never closes the data source, which must outlive it. Each request borrows a
 * connection, executes one or two statements, each as a transaction of its own, and returns the
 * connection with the settings that it had.
 *
 * <ul>
 *   <li>Threads of the client fetch the connections; they have neither a transaction nor a tenant.
 *       A data source that chooses by the caller's thread always leads to its database for such
 *       threads.
 *   <li>{@link LockOptions#requestTimeout()} limits the time in which a request waits for a
 *       connection and the answer together, however long the data source itself would wait.
 *   <li>One connection is kept while the client has leases, so that they are renewed and released
 *       even if the program uses up its pool. On PostgreSQL another one listens for releases while
 *       a thread waits. At least one connection of a HikariCP pool is left to the program; in a
 *       pool of one connection none is kept, so the leases are not protected.
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
   *     table and does not permit creating it, or has something else by that name
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
    return Schema.definition(database, settings.table()) + ";\n";
  }
}
