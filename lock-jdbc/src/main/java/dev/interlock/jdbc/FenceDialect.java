package dev.interlock.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The statements for the table of fences, which differ between databases. Each claim is one atomic
 * statement that leaves the higher of two tokens and keeps the row locked. An update followed by an
 * insert of a missing row would be worse: on PostgreSQL it would abort the program's transaction if
 * another is first, and on InnoDB two such transactions deadlock on the gap.
 */
enum FenceDialect {
  POSTGRESQL(
      """
      CREATE TABLE IF NOT EXISTS %s (
        name VARCHAR(255) PRIMARY KEY,
        token BIGINT NOT NULL,
        claimed_at TIMESTAMP WITH TIME ZONE NOT NULL
      )\
      """,
      """
      INSERT INTO %s AS fence (name, token, claimed_at) VALUES (?, ?, CURRENT_TIMESTAMP)
      ON CONFLICT (name) DO UPDATE
      SET token = GREATEST(fence.token, EXCLUDED.token), claimed_at = EXCLUDED.claimed_at
      RETURNING token\
      """),

  MYSQL(
      """
      CREATE TABLE IF NOT EXISTS %s (
        name VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY,
        token BIGINT NOT NULL,
        claimed_at DATETIME NOT NULL
      ) ENGINE = InnoDB\
      """,
      """
      INSERT INTO %s (name, token, claimed_at) VALUES (?, ?, UTC_TIMESTAMP())
      ON DUPLICATE KEY UPDATE
      token = GREATEST(token, VALUES(token)), claimed_at = VALUES(claimed_at)\
      """),

  // With IGNORECASE a character column would not distinguish two names.
  H2(
      """
      CREATE TABLE IF NOT EXISTS %s (
        name VARBINARY(255) PRIMARY KEY,
        token BIGINT NOT NULL,
        claimed_at TIMESTAMP WITH TIME ZONE NOT NULL
      )\
      """,
      """
      MERGE INTO %s AS fence
      USING (VALUES (CAST(? AS VARBINARY(255)), CAST(? AS BIGINT))) AS claim (name, token)
      ON fence.name = claim.name
      WHEN MATCHED THEN UPDATE
      SET token = GREATEST(fence.token, claim.token), claimed_at = CURRENT_TIMESTAMP
      WHEN NOT MATCHED THEN INSERT VALUES (claim.name, claim.token, CURRENT_TIMESTAMP)\
      """);

  private static final int MAX_TRIES = 5;

  private final String ddl;
  private final String claim;

  FenceDialect(String ddl, String claim) {
    this.ddl = ddl;
    this.claim = claim;
  }

  /** Returns the dialect of a connection. The drivers know it without asking the server. */
  static FenceDialect of(Connection connection) throws SQLException {
    String product = connection.getMetaData().getDatabaseProductName();
    return switch (product.toLowerCase(Locale.ROOT)) {
      case "postgresql" -> POSTGRESQL;
      case "mariadb", "mysql" -> MYSQL;
      case "h2" -> H2;
      default ->
          throw new UnsupportedOperationException(
              "JdbcFence supports PostgreSQL, MariaDB, MySQL and H2, and this is "
                  + product
                  + "; keep the token in a column of your own table instead");
    };
  }

  String ddl(String table) {
    return ddl.formatted(table);
  }

  /** Raises the fence to a token unless it is higher, locks its row, and returns its token. */
  @Nullable Long claim(Connection connection, String table, String key, long token)
      throws SQLException {
    try (PreparedStatement statement = prepare(connection, claim.formatted(table), key, token)) {
      for (int tries = 1; ; tries++) {
        try {
          return statement.execute()
              ? token(statement.getResultSet())
              : read(connection, table, key);
        } catch (SQLException e) {
          // H2's MERGE does not exclude a concurrent insert. Its transaction can continue, and sees
          // the row unless its snapshot is older.
          if (this != H2 || !SqlFailure.DUPLICATE_KEY.isCauseOf(e) || tries == MAX_TRIES) {
            throw e;
          }
        }
      }
    }
  }

  private static PreparedStatement prepare(
      Connection connection, String sql, String key, @Nullable Long token) throws SQLException {
    PreparedStatement statement = connection.prepareStatement(sql);
    try {
      statement.setString(1, key);
      if (token != null) {
        statement.setLong(2, token);
      }
      return statement;
    } catch (SQLException e) {
      statement.close();
      throw e;
    }
  }

  private static @Nullable Long token(ResultSet row) throws SQLException {
    try (row) {
      return row.next() ? row.getLong(1) : null;
    }
  }

  /** Locks the row of a fence, and returns its token; null if there is no row. */
  static @Nullable Long read(Connection connection, String table, String key) throws SQLException {
    // On InnoDB a plain SELECT would read a snapshot, and begin one.
    String sql = "SELECT token FROM " + table + " WHERE name = ? FOR UPDATE";
    try (PreparedStatement statement = prepare(connection, sql, key, null)) {
      return token(statement.executeQuery());
    }
  }

  /**
   * Locks the row of a fence, and returns whether it has this token. If not, use {@link #read}.
   *
   * <p>It writes the row although nothing changes, so that PostgreSQL refuses another transaction
   * whose snapshot is older and lacks this transaction's later writes.
   */
  static boolean touch(Connection connection, String table, String key, long token)
      throws SQLException {
    String sql = "UPDATE " + table + " SET token = token WHERE name = ? AND token = ?";
    try (PreparedStatement statement = prepare(connection, sql, key, token)) {
      return statement.executeUpdate() > 0;
    }
  }
}
