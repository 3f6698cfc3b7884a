package dev.interlock.jdbc;

/**
 * PostgreSQL: <code>postgresql://user:password@host:5432/database</code>. Of several hosts,
 * separated by commas, the driver chooses the primary.
 *
 * <p>The program must provide the database's driver. {@link #parameters} lists the parameters;
 * {@link JdbcSettings} explains some of them.
 */
public final class PostgreSqlProvider extends JdbcProvider {

  /** Does nothing. */
  public PostgreSqlProvider() {
    super(JdbcDatabase.POSTGRESQL);
  }
}
