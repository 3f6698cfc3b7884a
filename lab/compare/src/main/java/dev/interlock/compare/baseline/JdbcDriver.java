package dev.interlock.compare.baseline;

import dev.interlock.spi.LockUri;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A row of a database that only one client can insert. */
public final class JdbcDriver implements BareDriver {
  private static final Map<String, Integer> DEFAULT_PORTS =
      Map.of("postgresql", 5432, "mariadb", 3306);
  private static final int MAX_CONNECTIONS = 64;

  /** Used by {@link java.util.ServiceLoader}. */
  public JdbcDriver() {}

  @Override
  public Set<String> schemes() {
    return DEFAULT_PORTS.keySet();
  }

  @Override
  public String summary() {
    return "INSERT of a row with a primary key, then DELETE of its own row, each committed by"
        + " itself, on prepared statements of a pool of JDBC connections";
  }

  @Override
  public Session open(String uri, int threads) throws SQLException {
    LockUri parsed = LockUri.parse(uri);
    String scheme = uri.substring(0, uri.indexOf(':'));
    int port = DEFAULT_PORTS.getOrDefault(scheme, 0);
    String url = "jdbc:" + scheme + "://" + parsed.endpoints(port).get(0) + parsed.path();
    Properties login = new Properties();
    parsed.user().ifPresent(user -> login.setProperty("user", user));
    parsed.password().ifPresent(password -> login.setProperty("password", password));
    String table = "interlock_baseline_" + UUID.randomUUID().toString().substring(0, 8);
    Pool pool = new Pool(table, new LinkedBlockingQueue<>(), new ArrayList<>());
    try {
      for (int i = 0; i < Math.min(threads, MAX_CONNECTIONS); i++) {
        Connection connection = DriverManager.getConnection(url, login);
        pool.opened.add(connection);
        if (i == 0) {
          execute(
              connection,
              "CREATE TABLE " + table + " (name VARCHAR(255) PRIMARY KEY, owner VARCHAR(64))");
        }
        pool.free.add(Statements.prepare(connection, table));
      }
      return pool;
    } catch (SQLException e) {
      pool.close();
      throw e;
    }
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private record Statements(PreparedStatement insert, PreparedStatement delete) {
    static Statements prepare(Connection connection, String table) throws SQLException {
      return new Statements(
          connection.prepareStatement("INSERT INTO " + table + " (name, owner) VALUES (?, ?)"),
          connection.prepareStatement("DELETE FROM " + table + " WHERE name = ? AND owner = ?"));
    }

    int update(PreparedStatement statement, String name, String owner) throws SQLException {
      statement.setString(1, name);
      statement.setString(2, owner);
      return statement.executeUpdate();
    }
  }

  /** Connections and a temporary table, which is dropped when they are closed. */
  private record Pool(String table, BlockingQueue<Statements> free, List<Connection> opened)
      implements Session {

    @Override
    public void cycle(String name) throws Exception {
      String owner = UUID.randomUUID().toString();
      Statements statements = free.poll(REQUEST_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
      if (statements == null) {
        throw new IllegalStateException("no connection became free within the request time-out");
      }
      try {
        statements.update(statements.insert, name, owner);
        statements.update(statements.delete, name, owner);
      } finally {
        free.add(statements);
      }
    }

    /** {@return the number of rows in all tables of the user's schema} */
    @Override
    public long storedKeys() throws SQLException {
      Connection connection = opened.get(0);
      long rows = 0;
      try (ResultSet tables =
              connection
                  .getMetaData()
                  .getTables(
                      connection.getCatalog(),
                      connection.getSchema(),
                      "%",
                      new String[] {"TABLE", "BASE TABLE"});
          Statement statement = connection.createStatement()) {
        String quote = connection.getMetaData().getIdentifierQuoteString();
        while (tables.next()) {
          String name = quote + tables.getString("TABLE_NAME") + quote;
          try (ResultSet count = statement.executeQuery("SELECT count(*) FROM " + name)) {
            count.next();
            rows += count.getLong(1);
          }
        }
      }
      return rows;
    }

    @Override
    public void close() {
      for (int i = opened.size() - 1; i >= 0; i--) {
        try (Connection connection = opened.get(i)) {
          if (i == 0) {
            execute(connection, "DROP TABLE IF EXISTS " + table);
          }
        } catch (SQLException e) {
          // The server is gone, and so is the connection.
        }
      }
    }
  }
}
