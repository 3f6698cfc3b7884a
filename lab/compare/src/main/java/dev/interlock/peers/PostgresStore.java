package dev.interlock.peers;

import dev.interlock.tck.Server;
import dev.interlock.tck.StoreView;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.database.PostgresServer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** A PostgreSQL server on which a library keeps its locks in one table. */
record PostgresStore(PostgresServer server, Table table) implements Server, StoreView {

  /**
   * The table of a library's locks.
   *
   * @param query returns the key of each row, and whether its lock is held
   * @param expires whether rows of free locks are eventually removed
   * @param delete deletes the row with a key
   * @param key returns the key for the name of a lock
   */
  record Table(String query, boolean expires, String delete, UnaryOperator<String> key) {}

  static PostgresStore start(Table table) {
    return new PostgresStore(
        Testbed.postgresql().config("max_connections = 600").withoutSync().start(), table);
  }

  Connection connect() throws SQLException {
    return DriverManager.getConnection(Clients.postgresUrl(uri()));
  }

  /** Executes SQL statements, for example to create the table. */
  PostgresStore execute(String statements) throws SQLException {
    try (Connection connection = connect();
        Statement statement = connection.createStatement()) {
      statement.execute(statements);
    }
    return this;
  }

  @Override
  public String uri() {
    return server.uri().replaceFirst("//[^@]*@", "//");
  }

  @Override
  public Optional<StoreView> view() {
    return Optional.of(this);
  }

  @Override
  public boolean delete(String name) throws SQLException {
    try (Connection connection = connect();
        PreparedStatement delete = connection.prepareStatement(table.delete())) {
      delete.setString(1, table.key().apply(name));
      return delete.executeUpdate() > 0;
    }
  }

  @Override
  public List<Entry> entries() throws SQLException {
    List<Entry> entries = new ArrayList<>();
    try (Connection connection = connect();
        Statement query = connection.createStatement();
        ResultSet rows = query.executeQuery(table.query())) {
      while (rows.next()) {
        Kind kind = rows.getBoolean(2) ? Kind.HOLDER : Kind.FENCE;
        entries.add(new Entry(kind, "row " + rows.getString(1), table.expires()));
      }
    }
    return entries;
  }

  @Override
  public void close() {
    server.close();
  }
}
