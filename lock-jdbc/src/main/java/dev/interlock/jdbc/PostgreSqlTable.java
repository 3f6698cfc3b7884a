package dev.interlock.jdbc;

import dev.interlock.spi.Claim;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What PostgreSQL can do in one statement, where other databases need two. */
final class PostgreSqlTable extends LockTable {

  private final Sql take;
  private final Sql release;
  private final Sql releaseAfter;
  private final Sql replace;
  private final Sql replaceAndNotify;

  PostgreSqlTable(Dialect dialect, JdbcSettings settings) {
    super(dialect, settings);
    String now = dialect.now();
    this.take =
        new Sql(
            "WITH seen AS (SELECT "
                + columns
                + " FROM "
                + table
                + " AS l WHERE l.name = :name),"
                + " granted AS (INSERT INTO "
                + table
                + " AS l ("
                + String.join(", ", LockRow.COLUMNS)
                + ", purge_after)"
                + " SELECT :name, "
                + now
                + ", "
                + dialect.tokenNow()
                + ", :claim, :holder,"
                + " 'exclusive', 1, :nothing, "
                + now
                + ", "
                + now
                + " + :ttl, 0, 0, '', 0, 0, "
                + dialect.hourAfter(now + " + :kept")
                + " WHERE NOT EXISTS (SELECT 1 FROM seen WHERE NOT "
                + isGrantable("")
                + ")"
                + bounded()
                + " ON CONFLICT (name) DO UPDATE SET "
                + granted("l.", "GREATEST(l.fence + 1, " + dialect.tokenNow() + ")")
                + " WHERE "
                + isGrantable("l.")
                + " RETURNING l.fence)"
                + " SELECT "
                + now
                + ", "
                + columns("s")
                + ", (SELECT g.fence FROM granted AS g)"
                + " FROM (SELECT 1 AS one) AS one LEFT JOIN seen AS s ON true");
    this.release =
        new Sql(
            "WITH held AS (SELECT l.name, l.expires_at, l.awaited, "
                + ifAwaited("l.waiter", "''")
                + " AS next, "
                + ifAwaited(reservationSql("l."), "0")
                + " AS reserved FROM "
                + table
                + " AS l WHERE l.name = :name AND l.claim = :claim"
                + bounded()
                + " FOR UPDATE),"
                + " released AS (UPDATE "
                + table
                + " AS l SET version = l.version + 1,"
                + " expires_at = "
                + now
                + " + held.reserved, claim = held.next, "
                + FREE
                + " FROM held WHERE l.name = held.name AND held.expires_at > "
                + now
                + " RETURNING held.awaited)"
                + " SELECT CASE WHEN awaited = 1"
                + " THEN pg_notify(:channel, :payload) IS NULL ELSE true END FROM released");
    this.releaseAfter =
        new Sql(
            "WITH held AS (SELECT l.name, l.expires_at FROM "
                + table
                + " AS l WHERE l.name = :name AND l.claim IN (:claim, :deferred)"
                + " AND l.revoked = 0"
                + bounded()
                + " FOR UPDATE),"
                + " deferred AS (UPDATE "
                + table
                + " AS l SET "
                + deferred("l.")
                + " FROM held WHERE l.name = held.name AND held.expires_at > "
                + now
                + " RETURNING l.awaited)"
                + " SELECT CASE WHEN awaited = 1"
                + " THEN pg_notify(:channel, :payload) IS NULL ELSE true END FROM deferred");
    String replacing =
        "WITH held AS (SELECT l.name, l.version FROM "
            + table
            + " AS l WHERE l.name = :name"
            + " AND l.version = :version"
            + bounded()
            + " FOR UPDATE),"
            + " changed AS (UPDATE "
            + table
            + " AS l SET "
            + replacement()
            // The version is there to make this depend on the locked row.
            + " FROM held WHERE l.name = held.name AND "
            + now
            + " < :before - (held.version - :version) RETURNING l.name) SELECT ";
    this.replace = new Sql(replacing + "name FROM changed");
    this.replaceAndNotify = new Sql(replacing + "pg_notify(:channel, :payload) FROM changed");
  }

  /**
   * An UPDATE that has waited for the row looks at its conditions again only if the row was
   * changed, and not if the other transaction was rolled back. So the row is locked first, and the
   * time compared with what was locked.
   */
  @Override
  String renewal(String ofClaims) {
    return renewal(ofClaims, "");
  }

  @Override
  Set<String> renewUnlocked(Session session, List<Claim> claims, long ttl) throws SQLException {
    Map<String, Object> values = renewing(ttl);
    return session.query(
        new Sql(renewal(areOf(claims, values), " SKIP LOCKED") + " RETURNING l.claim"),
        values,
        rows -> {
          Set<String> ids = new HashSet<>();
          while (rows.next()) {
            ids.add(rows.getString(1));
          }
          return ids;
        });
  }

  private String renewal(String ofClaims, String unlessLocked) {
    String now = dialect.now();
    return "WITH held AS (SELECT l.name, l.expires_at FROM "
        + table
        + " AS l WHERE "
        + ofClaims
        + bounded()
        + " ORDER BY l.name FOR UPDATE"
        + unlessLocked
        + ")"
        + " UPDATE "
        + table
        + " AS l SET version = l.version + 1, expires_at = "
        + now
        + " + :ttl, purge_after = "
        + dialect.hourAfter(now + " + :kept")
        + " FROM held WHERE l.name = held.name AND held.expires_at > "
        + now;
  }

  @Override
  String bounded() {
    return " AND set_config('lock_timeout', :lockTimeout, true) <> ''";
  }

  @Override
  String unlessPresent() {
    return " ON CONFLICT (name) DO NOTHING";
  }

  @Override
  Taken take(Session session, Claim claim, long ttl) throws SQLException {
    return session.query(
        take,
        values(claim, ttl),
        rows -> {
          rows.next();
          long token = rows.getLong(LockRow.COLUMNS.size() + 2);
          if (token > 0) {
            // What the row was before does not matter, and may be beyond this version.
            return new Taken(token, rows.getBytes(2) == null, null);
          }
          return new Taken(0, false, LockRow.read(rows));
        });
  }

  @Override
  boolean release(Session session, Claim claim) throws SQLException {
    Map<String, Object> values = new HashMap<>(releasing(claim));
    values.putAll(notification(claim.name()));
    return session.query(release, values, rows -> rows.next());
  }

  @Override
  boolean releaseAfter(Session session, Claim claim, long delay) throws SQLException {
    Map<String, Object> values = new HashMap<>(deferring(claim, delay));
    values.putAll(notification(claim.name()));
    return session.query(releaseAfter, values, rows -> rows.next());
  }

  @Override
  boolean replace(Session session, String name, Map<String, Object> values, boolean wake)
      throws SQLException {
    values.putAll(notification(name));
    return session.query(wake ? replaceAndNotify : replace, values, rows -> rows.next());
  }

  private Map<String, Object> notification(String name) {
    return Map.of("channel", ReleaseChannel.of(table), "payload", ReleaseChannel.payload(name));
  }
}
