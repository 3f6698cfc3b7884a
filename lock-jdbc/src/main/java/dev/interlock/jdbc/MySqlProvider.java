package dev.interlock.jdbc;

/**
 * MySQL: <code>mysql://user:password@host:3306/database</code>.
 *
 * <p>The program must provide the database's driver. {@link #parameters} lists the parameters;
 * {@link JdbcSettings} explains some of them.
 */
public final class MySqlProvider extends JdbcProvider {

  /** Does nothing. */
  public MySqlProvider() {
    super(JdbcDatabase.MYSQL);
  }
}
