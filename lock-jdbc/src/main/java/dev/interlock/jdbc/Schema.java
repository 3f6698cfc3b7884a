package dev.interlock.jdbc;

import dev.interlock.LockException;
import dev.interlock.spi.Deadline;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Map;

/** Creates and checks the table of locks. */
final class Schema {

  /** Finds schemas on the search path that have the table, and that the user may not use. */
  private static final Sql HIDING =
      new Sql(
          """
          SELECT n.nspname FROM pg_catalog.pg_class AS c
          JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
          WHERE c.relname = lower(:table) AND NOT has_schema_privilege(n.oid, 'USAGE')
          AND n.nspname IN (
            SELECT CASE
              WHEN path = '"$user"' OR path = '$user' THEN CAST(current_user AS text)
              WHEN path LIKE '"%' THEN btrim(path, '"')
              ELSE lower(path) END
            FROM (
              SELECT btrim(unnest(string_to_array(current_setting('search_path'), ','))) AS path
            ) AS paths
          )\
          """);

  private final JdbcDatabase database;
  private final JdbcSettings settings;
  private final Failures failures;

  Schema(JdbcDatabase database, JdbcSettings settings, Failures failures) {
    this.database = database;
    this.settings = settings;
    this.failures = failures;
  }

  /** {@return the statements that create the table if it is missing, separated by semicolons} */
  static String definition(JdbcDatabase database, String table) {
    String columns =
        """
        CREATE TABLE IF NOT EXISTS {table} (
          name        {label} NOT NULL PRIMARY KEY,
          version     BIGINT NOT NULL,
          fence       BIGINT NOT NULL,
          claim       {word(40)} NOT NULL,
          holder      {label} NOT NULL,
          kind        {word(16)} NOT NULL,
          capacity    INTEGER NOT NULL,
          holds       {long} NOT NULL,
          granted_at  BIGINT NOT NULL,
          expires_at  BIGINT NOT NULL,
          revoked     SMALLINT NOT NULL,
          awaited     SMALLINT NOT NULL,
          waiter      {word(40)} NOT NULL,
          waits_since BIGINT NOT NULL,
          waits_until BIGINT NOT NULL,
          purge_after BIGINT NOT NULL\
        """;
    String index = ";\nCREATE INDEX IF NOT EXISTS {index} ON {table} (purge_after)";
    String definition =
        switch (database) {
          case POSTGRESQL ->
              // Free space in the pages lets new versions of rows do without new index entries.
              (columns + "\n) WITH (fillfactor = 50)" + index)
                  .replace("{label}", "bytea")
                  .replace("{long}", "bytea");
          case MARIADB, MYSQL ->
              (columns + ",\n  KEY {index} (purge_after)\n) ENGINE=InnoDB ROW_FORMAT=DYNAMIC")
                  .replaceAll("\\{word(.*?)}", "VARCHAR$1 CHARACTER SET ascii COLLATE ascii_bin")
                  .replace("{long}", "MEDIUMBLOB");
          case H2 -> (columns + "\n)" + index).replace("{long}", "VARBINARY(16777216)");
        };
    return definition
        .replace("{label}", "VARBINARY(1020)")
        .replaceAll("\\{word(.*?)}", "VARCHAR$1")
        .replace("{index}", table.substring(table.indexOf('.') + 1) + "_purge")
        .replace("{table}", table);
  }

  /**
   * Checks that the table is a table of locks. Creates it if it is missing and may be created.
   *
   * @throws LockException if the table is missing or has other columns
   */
  void ensure(Requests requests, Deadline deadline) throws InterruptedException {
    requests.repeatable(
        deadline,
        new Requests.Attempts(),
        session -> {
          try {
            check(session);
          } catch (SQLException e) {
            create(session, e);
          }
          return true;
        });
  }

  /**
   * Throws the failure of a statement again unless its reason is that the table is missing.
   * PostgreSQL also reports a table as missing if it is in a schema on the search path that the
   * user may not use.
   *
   * @throws LockException if the table exists, but must not be used
   */
  void requireGone(Session session, SQLException e) throws SQLException {
    if (!SqlFailure.MISSING_TABLE.isCauseOf(e)) {
      throw e;
    }
    if (database == JdbcDatabase.POSTGRESQL && settings.table().indexOf('.') < 0) {
      String hiding =
          session.query(
              HIDING,
              Map.of("table", settings.table()),
              rows -> rows.next() ? rows.getString(1) : "");
      if (!hiding.isEmpty()) {
        throw failures.misconfigured(
            "does not grant the user USAGE on the schema " + hiding + ", which has the table", e);
      }
    }
  }

  /**
   * Creates the table if a statement failed because it is missing. Other clients may do so at the
   * same time.
   *
   * @throws LockException if the table may not be created, or has other columns
   * @throws SQLException the failure of the statement if the table exists
   */
  void create(Session session, SQLException missing) throws SQLException {
    requireGone(session, missing);
    String remedy =
        "the table "
            + settings.table()
            + " is missing; create it with the statements that JdbcLocks.schema returns, or let a"
            + " client whose user may create tables do so (createSchema)";
    if (!settings.createSchema()) {
      throw failures.misconfigured(remedy, missing);
    }
    try {
      // The statements are one transaction if the database can roll definitions back.
      session.define(definition(database, settings.table()));
    } catch (SQLException e) {
      // Another client may have been faster, which databases report in many ways.
      try {
        check(session);
        return;
      } catch (SQLException still) {
        if (!SqlFailure.MISSING_TABLE.isCauseOf(still)) {
          throw still;
        }
      }
      if (SqlFailure.ROLLED_BACK.isCauseOf(e) || SqlFailure.isBroken(e)) {
        throw e;
      }
      throw failures.misconfigured(remedy + ": " + e.getMessage(), e);
    }
    check(session);
  }

  private void check(Session session) throws SQLException {
    try {
      session.query(LockSql.CHECK.on(database, settings.table()), Map.of(), ResultSet::next);
    } catch (SQLException e) {
      if (SqlFailure.MISSING_COLUMN.isCauseOf(e)) {
        throw failures.misconfigured(
            "the table "
                + settings.table()
                + " lacks a column of this version's tables of locks; use another table, or drop"
                + " and create this one again: "
                + e.getMessage(),
            e);
      }
      throw e;
    }
  }
}
