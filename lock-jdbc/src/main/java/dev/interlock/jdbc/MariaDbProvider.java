package dev.interlock.jdbc;

/**
 * MariaDB: <code>mariadb://user:password@host:3306/database</code>.
 *
 * <p>The program must provide the database's driver. {@link #parameters} lists the parameters;
 * {@link JdbcSettings} explains some of them.
 */
public final class MariaDbProvider extends JdbcProvider {

  /** Does nothing. */
  public MariaDbProvider() {
    super(JdbcDatabase.MARIADB);
  }
}
