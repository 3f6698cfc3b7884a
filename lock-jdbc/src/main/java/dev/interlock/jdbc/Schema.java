package dev.interlock.jdbc;

import dev.interlock.LockException;
import dev.interlock.spi.Deadline;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;

/** The table of locks: what creates it, and whether it is there. */
final class Schema {

  /** The schemas on the search path that have such a table and must not be used. */
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
          )""");

  private final Dialect dialect;
  private final JdbcSettings settings;

  Schema(Dialect dialect, JdbcSettings settings) {
    this.dialect = dialect;
    this.settings = settings;
  }

  /** {@return the statements that create it, unless it is there} */
  List<String> statements() {
    String index = settings.table().substring(settings.table().indexOf('.') + 1) + "_purge";
    String charset = dialect.isMaria() ? " CHARACTER SET ascii COLLATE ascii_bin" : "";
    String table =
        """
        CREATE TABLE IF NOT EXISTS %1$s (
          name        %2$s NOT NULL PRIMARY KEY,
          version     BIGINT NOT NULL,
          fence       BIGINT NOT NULL,
          claim       VARCHAR(40)%4$s NOT NULL,
          holder      %5$s NOT NULL,
          kind        VARCHAR(16)%4$s NOT NULL,
          capacity    INTEGER NOT NULL,
          holds       %3$s NOT NULL,
          granted_at  BIGINT NOT NULL,
          expires_at  BIGINT NOT NULL,
          revoked     SMALLINT NOT NULL,
          awaited     SMALLINT NOT NULL,
          waiter      VARCHAR(40)%4$s NOT NULL,
          waits_since BIGINT NOT NULL,
          waits_until BIGINT NOT NULL,
          purge_after BIGINT NOT NULL%6$s
        )%7$s\
        """
            .formatted(
                settings.table(),
                dialect.nameType(),
                dialect.bytesType(),
                charset,
                dialect.nameType(),
                dialect.isMaria() ? ",\n  KEY " + index + " (purge_after)" : "",
                options());
    return dialect.isMaria()
        ? List.of(table)
        : List.of(
            table,
            "CREATE INDEX IF NOT EXISTS " + index + " ON " + settings.table() + " (purge_after)");
  }

  /** Room in each page for new versions of its rows, which then need no new entries of indexes. */
  private String options() {
    if (dialect.isMaria()) {
      return " ENGINE=InnoDB ROW_FORMAT=DYNAMIC";
    }
    return dialect == Dialect.POSTGRESQL ? " WITH (fillfactor = 50)" : "";
  }

  /**
   * Creates the table if it is missing and may be created, and checks that it is one of locks.
   *
   * @throws LockException if it is missing, or something else
   */
  void ensure(Requests requests, Failures failures, Deadline deadline) throws InterruptedException {
    requests.repeatable(
        deadline,
        new Requests.Attempts(),
        session -> {
          try {
            check(session, failures);
          } catch (SQLException e) {
            if (!isGone(session, failures, e)) {
              throw e;
            }
            create(session, failures, e);
          }
          return true;
        });
  }

  /**
   * {@return whether a statement has failed because there is no table} PostgreSQL says so of one,
   * too, that is in a schema on the search path whose use it refuses.
   *
   * @throws LockException if the table is there, and must not be used
   */
  boolean isGone(Session session, Failures failures, SQLException e) throws SQLException {
    if (!Failures.isMissingTable(e)) {
      return false;
    }
    if (dialect == Dialect.POSTGRESQL && settings.table().indexOf('.') < 0) {
      String hiding =
          session.query(
              HIDING,
              Map.of("table", settings.table()),
              rows -> rows.next() ? rows.getString(1) : "");
      if (!hiding.isEmpty()) {
        throw failures.wrong(
            "does not permit the user USAGE on the schema " + hiding + ", which has the table", e);
      }
    }
    return true;
  }

  /**
   * Creates the table. Other clients may do so at the same time.
   *
   * @param missing how the database said that there is none
   * @throws LockException if it may not be created, or something else is there
   */
  void create(Session session, Failures failures, SQLException missing) throws SQLException {
    String remedy =
        "the table "
            + settings.table()
            + " is missing; create it with the statements that JdbcLocks.schema returns, or let a"
            + " client create it (createSchema) whose user may do so";
    if (!settings.createSchema()) {
      throw failures.wrong(remedy, missing);
    }
    try {
      // Together they are one transaction where the database can undo definitions.
      session.define(String.join(";\n", statements()));
    } catch (SQLException e) {
      // Another client may have been faster; databases report that in many ways.
      try {
        check(session, failures);
        return;
      } catch (SQLException still) {
        if (!Failures.isMissingTable(still)) {
          throw still;
        }
      }
      if (Failures.isRolledBack(e) || Failures.isBroken(e)) {
        throw e;
      }
      throw failures.wrong(remedy + ": " + e.getMessage(), e);
    }
    check(session, failures);
  }

  private void check(Session session, Failures failures) throws SQLException {
    try {
      boolean unused =
          session.query(
              new Sql(
                  "SELECT "
                      + LockTable.columns("l")
                      + ", l.purge_after FROM "
                      + settings.table()
                      + " AS l WHERE 1 = 0"),
              Map.of(),
              rows -> rows.next());
    } catch (SQLException e) {
      if (Failures.isMissingColumn(e)) {
        throw failures.wrong(
            "the table "
                + settings.table()
                + " is not one of this version's tables of locks, as a column is missing; use"
                + " another table, or create it anew: "
                + e.getMessage(),
            e);
      }
      throw e;
    }
  }
}
