package dev.interlock.jdbc;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.spi.Claim;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The statements on the table of locks. Each changes the row of one name, or of some names for the
 * same claims, and is a transaction of its own. So a client that is stopped or cut off never keeps
 * a row locked, and all decisions are those of one statement, or of a comparison with the row's
 * version.
 */
class LockTable {

  static final int MAX_PURGED = 256;

  // For longer than a waiter needs to hear of a release and to ask, or than it pauses if it polls.
  private static final long SHORTEST_RESERVATION = 300_000;
  // Waiters are to be served within a second.
  private static final long LONGEST_RESERVATION = 900_000;
  private static final int WAITS_PER_RESERVATION = 10;

  /** What a row is set to by a release, apart from its claim and its end. */
  static final String FREE =
      "holder = :nothing, kind = 'exclusive', capacity = 1, holds = :nothing,"
          + " revoked = 0, awaited = 0, waits_until = 0";

  /** This client, in the rows of names for which it waits. */
  final String waiter = LockRow.WAITER_PREFIX + UUID.randomUUID();

  final Dialect dialect;
  final String table;
  final String columns;
  private final long retentionMicros;

  private final Sql read;
  private final Sql take;
  private final Sql insert;
  private final Sql release;
  private final Sql releaseAfter;
  private final Sql replace;
  private final Sql page;
  private final Sql outdated;
  private final Sql mark;

  LockTable(Dialect dialect, JdbcSettings settings) {
    this.dialect = dialect;
    this.table = settings.table();
    this.retentionMicros = SharedHolds.micros(settings.fenceRetention());
    this.columns = columns("l");
    String now = dialect.now();
    this.read =
        new Sql(
            "SELECT "
                + now
                + ", "
                + columns
                + " FROM (SELECT 1 AS one) AS one LEFT JOIN "
                + table
                + " AS l ON l.name = :name");
    this.take =
        new Sql(
            "UPDATE "
                + table
                + " SET "
                + granted("", takenToken())
                + " WHERE name = :name AND "
                + isGrantable(""));
    this.insert = new Sql(insertRow(insertedToken()));
    this.release =
        new Sql(
            "UPDATE "
                + table
                + " SET version = version + 1, claim = "
                + ifAwaited("waiter", "''")
                + ", expires_at = "
                + now
                + " + "
                + ifAwaited(reservationSql(""), "0")
                + ", "
                + FREE
                + " WHERE name = :name AND claim = :claim AND expires_at > "
                + now);
    this.releaseAfter =
        new Sql(
            "UPDATE "
                + table
                + " SET "
                + deferred("")
                + " WHERE name = :name AND claim IN (:claim, :deferred) AND revoked = 0"
                + " AND expires_at > "
                + now);
    this.replace =
        new Sql(
            "UPDATE "
                + table
                + " AS l SET "
                + replacement()
                + " WHERE l.name = :name AND l.version = :version AND "
                + now
                + " < :before");
    this.page =
        new Sql(
            "SELECT "
                + now
                + ", "
                + columns
                + " FROM "
                + table
                + " AS l WHERE l.name >= :from AND l.name < :before ORDER BY l.name LIMIT :limit");
    this.outdated =
        new Sql(
            "SELECT name FROM "
                + table
                + " WHERE purge_after <= "
                + now
                + " ORDER BY purge_after LIMIT :limit");
    this.mark =
        new Sql(
            "UPDATE "
                + table
                + " SET version = version + 1, awaited = 1, waiter = :waiter,"
                + " waits_since = :since, waits_until = :until"
                + " WHERE name = :name AND (waiter = :waiter OR waits_since > :since OR waits_until <= "
                + now
                + ") AND expires_at > "
                + now
                + bounded());
  }

  /**
   * For how long to reserve a name for a client, in microseconds: the longer it has waited, since
   * it may have been too slow for its turns.
   */
  static long reservation(long waited) {
    return Math.max(
        SHORTEST_RESERVATION, Math.min(LONGEST_RESERVATION, waited / WAITS_PER_RESERVATION));
  }

  /** The same in SQL, for the waiter of a row. */
  final String reservationSql(String alias) {
    String waited = "(" + dialect.now() + " - " + alias + "waits_since)";
    // Not formatted, as Arabic has other digits.
    return "GREATEST("
        + SHORTEST_RESERVATION
        + ", LEAST("
        + LONGEST_RESERVATION
        + ", "
        + waited
        + " / "
        + WAITS_PER_RESERVATION
        + "))";
  }

  /** One of two expressions, by whether the row says for which waiter to reserve the name. */
  final String ifAwaited(String then, String otherwise) {
    return "CASE WHEN waits_until > "
        + dialect.now()
        + " THEN "
        + then
        + " ELSE "
        + otherwise
        + " END";
  }

  /**
   * A condition that is true if the row has ended, is reserved for this client, or has the claim. A
   * reservation that follows a grant of the future is of before the clock was set back.
   */
  final String isGrantable(String alias) {
    String now = dialect.now();
    return "("
        + alias
        + "expires_at <= "
        + now
        + " OR "
        + alias
        + "claim IN (:claim, :waiter) AND "
        + alias
        + "revoked = 0 OR "
        + alias
        + "claim LIKE '"
        + LockRow.WAITER_PREFIX
        + "%' AND "
        + alias
        + "granted_at > "
        + now
        + ")";
  }

  static String columns(String alias) {
    return alias + "." + String.join(", " + alias + ".", LockRow.COLUMNS);
  }

  /** A condition that is always true, and keeps the statement from waiting too long for the row. */
  String bounded() {
    return "";
  }

  private static String nextToken(String fence, Dialect dialect) {
    return "GREATEST(" + fence + " + 1, " + dialect.tokenNow() + ")";
  }

  private String takenToken() {
    String token = nextToken("fence", dialect);
    return dialect.isMaria() ? "LAST_INSERT_ID(" + token + ")" : token;
  }

  private String insertedToken() {
    String token = dialect.tokenNow();
    return dialect.isMaria() ? "LAST_INSERT_ID(" + token + ")" : token;
  }

  /**
   * What a row is set to when an exclusive lock is granted. Others may wait for it already: while
   * it was reserved, or since an earlier copy of the request.
   */
  String granted(String alias, String token) {
    String now = dialect.now();
    return "fence = "
        + token
        + ", version = "
        + alias
        + "version + 1,"
        + " claim = :claim, holder = :holder, kind = 'exclusive', capacity = 1, holds = :nothing,"
        + " granted_at = "
        + now
        + ", expires_at = "
        + now
        + " + :ttl, revoked = 0, waits_until = CASE WHEN "
        + alias
        + "waiter = :waiter THEN 0 ELSE "
        + alias
        + "waits_until END,"
        + " purge_after = "
        + dialect.hourAfter(now + " + :kept");
  }

  private String insertRow(String token) {
    String now = dialect.now();
    return "INSERT INTO "
        + table
        + " ("
        + String.join(", ", LockRow.COLUMNS)
        + ", purge_after)"
        + " VALUES (:name, "
        + now
        + ", "
        + token
        + ", :claim, :holder, 'exclusive', 1, :nothing, "
        + now
        + ", "
        + now
        + " + :ttl, 0, 0, '', 0, 0, "
        + dialect.hourAfter(now + " + :kept")
        + ")";
  }

  /** What the row as a whole is set to. */
  final String replacement() {
    return "version = l.version + 1, fence = :fence, claim = :claim,"
        + " holder = :holder, kind = :kind, capacity = :capacity, holds = :holds,"
        + " granted_at = :grantedAt, expires_at = :expiresAt, revoked = :revoked, awaited = 0,"
        + " waits_until = 0, purge_after = "
        + dialect.hourAfter(":expiresAt + :retention");
  }

  /** {@return the row of a name, and the server's clock} */
  Snapshot read(Session session, String name) throws SQLException {
    return session.query(
        read,
        Map.of("name", key(name)),
        rows -> {
          rows.next();
          return new Snapshot(rows.getLong(1), LockRow.read(rows));
        });
  }

  /**
   * What one statement found.
   *
   * @param now the server's clock
   * @param row the row, or null if the name has none
   */
  record Snapshot(long now, @Nullable LockRow row) {}

  /**
   * How an attempt to acquire an exclusive lock ended. Without a token and without a row that is
   * held another client was faster, and the attempt has to be repeated.
   *
   * @param token the fencing token if the lock was granted, or else 0
   * @param inserted whether the name had no row before
   * @param row the row if the lock was not granted
   */
  record Taken(long token, boolean inserted, @Nullable LockRow row) {}

  /**
   * Grants an exclusive lock if the name is free, reserved for this client, or the claim has it
   * already.
   */
  Taken take(Session session, Claim claim, long ttl) throws SQLException {
    Map<String, Object> values = values(claim, ttl);
    OptionalLong token = session.updateReturningFence(take, values);
    if (token.isPresent()) {
      return new Taken(token.getAsLong(), false, null);
    }
    LockRow row = read(session, claim.name()).row();
    if (row != null) {
      return new Taken(0, false, row);
    }
    try {
      return new Taken(session.updateReturningFence(insert, values).orElseThrow(), true, null);
    } catch (SQLException e) {
      if (!Failures.isDuplicateKey(e)) {
        throw e;
      }
      return new Taken(0, false, null);
    }
  }

  Map<String, Object> values(Claim claim, long ttl) {
    Map<String, Object> values = new HashMap<>();
    values.put("name", key(claim.name()));
    values.put("claim", claim.id());
    values.put("waiter", waiter);
    values.put("holder", claim.holder().getBytes(UTF_8));
    values.put("nothing", new byte[0]);
    values.put("ttl", ttl);
    values.put("kept", ttl + retentionMicros);
    return values;
  }

  /**
   * Notes that the next release of a lock, by whoever holds it by then, has to be notified, and
   * reserves it for this client.
   *
   * @param since since when this client waits
   * @param until until when it is to be waited for
   * @return false if the lock is free by now, or the row names another that waits for longer
   */
  boolean mark(Session session, String name, long since, long until) throws SQLException {
    return session.update(
            mark, Map.of("name", key(name), "waiter", waiter, "since", since, "until", until))
        == 1;
  }

  /**
   * Extends all claims that still hold their exclusive locks.
   *
   * @param ttl the same for all of them
   * @return how many do
   */
  int renew(Session session, List<Claim> claims, long ttl) throws SQLException {
    Map<String, Object> values = renewing(ttl);
    return session.update(new Sql(renewal(areOf(claims, values))), values);
  }

  /**
   * Extends the claims that still hold their exclusive locks and whose rows nobody else has locked.
   *
   * @return the ids of those that it has extended; none if the database would wait for the rows
   */
  Set<String> renewUnlocked(Session session, List<Claim> claims, long ttl) throws SQLException {
    return Set.of();
  }

  final Map<String, Object> renewing(long ttl) {
    Map<String, Object> values = new HashMap<>();
    values.put("ttl", ttl);
    values.put("kept", ttl + retentionMicros);
    return values;
  }

  String renewal(String ofClaims) {
    String now = dialect.now();
    return "UPDATE "
        + table
        + " AS l SET version = l.version + 1, expires_at = "
        + now
        + " + :ttl, purge_after = "
        + dialect.hourAfter(now + " + :kept")
        + " WHERE "
        + ofClaims
        + " AND l.expires_at > "
        + now;
  }

  /** {@return the ids of those of the claims that hold their exclusive locks} */
  List<String> holding(Session session, List<Claim> claims) throws SQLException {
    Map<String, Object> values = new HashMap<>();
    return session.query(
        new Sql(
            "SELECT claim FROM "
                + table
                + " AS l WHERE "
                + areOf(claims, values)
                + " AND l.expires_at > "
                + dialect.now()),
        values,
        rows -> {
          List<String> ids = new ArrayList<>();
          while (rows.next()) {
            ids.add(rows.getString(1));
          }
          return ids;
        });
  }

  /** An id belongs to one name only, so that names and ids need not be compared in pairs. */
  final String areOf(List<Claim> claims, Map<String, Object> values) {
    StringBuilder names = new StringBuilder();
    StringBuilder ids = new StringBuilder();
    // Few lengths, so that servers and drivers meet the same statements again.
    int length = Math.max(1, Integer.highestOneBit(claims.size() * 2 - 1));
    for (int i = 0; i < length; i++) {
      Claim claim = claims.get(Math.min(i, claims.size() - 1));
      names.append(i == 0 ? "" : ", ").append(":name").append(i);
      ids.append(i == 0 ? "" : ", ").append(":claim").append(i);
      values.put("name" + i, key(claim.name()));
      values.put("claim" + i, claim.id());
    }
    return "l.name IN (" + names + ") AND l.claim IN (" + ids + ") AND l.revoked = 0";
  }

  /**
   * Releases an exclusive lock, and notifies those who wait if the row says so.
   *
   * @return whether the claim had it
   */
  boolean release(Session session, Claim claim) throws SQLException {
    return session.update(release, releasing(claim)) == 1;
  }

  /** What a row is set to when the release of an exclusive lock is deferred. */
  final String deferred(String alias) {
    String now = dialect.now();
    String end = alias + "expires_at";
    // The claim comes last: MariaDB evaluates from left to right.
    return "version = "
        + alias
        + "version + 1, expires_at = CASE WHEN "
        + alias
        + "claim = :deferred AND "
        + end
        + " < "
        + now
        + " + :delay THEN "
        + end
        + " ELSE "
        + now
        + " + :delay END, claim = :deferred, purge_after = "
        + dialect.hourAfter(now + " + :kept");
  }

  /**
   * Keeps an exclusive lock for a time without the claim, and notifies those who wait if the row
   * says so. A late copy of the request does not keep it for longer.
   *
   * @return whether the claim had it
   */
  boolean releaseAfter(Session session, Claim claim, long delay) throws SQLException {
    return session.update(releaseAfter, deferring(claim, delay)) == 1;
  }

  final Map<String, Object> deferring(Claim claim, long delay) {
    return Map.of(
        "name",
        key(claim.name()),
        "claim",
        claim.id(),
        "deferred",
        claim.deferredId(),
        "delay",
        delay,
        "kept",
        delay + retentionMicros);
  }

  final Map<String, Object> releasing(Claim claim) {
    return Map.of("name", key(claim.name()), "claim", claim.id(), "nothing", new byte[0]);
  }

  /**
   * Writes the row of a name that is shared, or free.
   *
   * @param row what has been read
   * @param state what is to be written
   * @param fence the last token
   * @param before not after this time of the server's clock
   * @param wake whether those who wait have to be notified
   * @return false if the row has changed since, or the time has passed
   */
  final boolean replace(
      Session session, LockRow row, SharedHolds state, long fence, long before, boolean wake)
      throws SQLException {
    Map<String, Object> values = values(row.name(), state, fence);
    values.put("version", row.version());
    values.put("before", before);
    return replace(session, row.name(), values, wake);
  }

  boolean replace(Session session, String name, Map<String, Object> values, boolean wake)
      throws SQLException {
    return session.update(replace, values) == 1;
  }

  /**
   * Writes the first row of a name that is shared.
   *
   * @return false if there is a row by now
   */
  final boolean insert(Session session, String name, SharedHolds state, long fence)
      throws SQLException {
    Map<String, Object> values = values(name, state, fence);
    values.put("version", 0L);
    String text =
        "INSERT INTO "
            + table
            + " ("
            + String.join(", ", LockRow.COLUMNS)
            + ", purge_after)"
            + " VALUES (:name, "
            + dialect.now()
            + ", :fence, :claim, :holder, :kind, :capacity,"
            + " :holds, :grantedAt, :expiresAt, :revoked, 0, '', 0, 0, "
            + dialect.hourAfter(":expiresAt + :retention")
            + ")"
            + unlessPresent();
    try {
      return session.update(new Sql(text), values) == 1;
    } catch (SQLException e) {
      if (!Failures.isDuplicateKey(e)) {
        throw e;
      }
      return false;
    }
  }

  String unlessPresent() {
    return "";
  }

  private Map<String, Object> values(String name, SharedHolds state, long fence) {
    boolean free = state.isFree();
    Map<String, Object> values = new HashMap<>();
    values.put("name", key(name));
    values.put("fence", fence);
    values.put("claim", "");
    values.put("holder", new byte[0]);
    values.put("kind", free ? "exclusive" : LockRow.word(state.kind()));
    values.put("capacity", free ? 1 : state.capacity());
    values.put("holds", state.content().getBytes(UTF_8));
    values.put("grantedAt", 0L);
    values.put("expiresAt", state.expiresAt());
    values.put("revoked", state.isRevoked() ? 1 : 0);
    values.put("retention", retentionMicros);
    return values;
  }

  /**
   * Revokes an exclusive lock.
   *
   * @return false if the row has changed since
   */
  boolean revoke(Session session, LockRow row) throws SQLException {
    return session.update(
            new Sql(
                "UPDATE "
                    + table
                    + " SET version = version + 1, revoked = 1"
                    + " WHERE name = :name AND version = :version"
                    + bounded()),
            Map.of("name", key(row.name()), "version", row.version()))
        == 1;
  }

  /**
   * {@return up to so many rows by the order of their names' bytes}
   *
   * @param from names from this one on
   * @param before names less than this
   */
  List<LockRow> page(Session session, byte[] from, byte[] before, int limit) throws SQLException {
    return session.query(
        page,
        Map.of("from", from, "before", before, "limit", limit),
        rows -> {
          List<LockRow> page = new ArrayList<>();
          while (rows.next()) {
            page.add(LockRow.read(rows));
          }
          return page;
        });
  }

  /** Deletes some rows whose token need not be remembered any longer. Returns how many. */
  int purge(Session session) throws SQLException {
    List<byte[]> names =
        session.query(
            outdated,
            Map.of("limit", MAX_PURGED),
            rows -> {
              List<byte[]> some = new ArrayList<>();
              while (rows.next()) {
                some.add(rows.getBytes(1));
              }
              return some;
            });
    if (names.isEmpty()) {
      return 0;
    }
    Map<String, Object> values = new HashMap<>();
    StringBuilder list = new StringBuilder();
    for (int i = 0; i < MAX_PURGED; i++) {
      list.append(i == 0 ? "" : ", ").append(":name").append(i);
      values.put("name" + i, names.get(Math.min(i, names.size() - 1)));
    }
    return session.update(
        new Sql(
            "DELETE FROM "
                + table
                + " WHERE name IN ("
                + list
                + ") AND purge_after <= "
                + dialect.now()
                + bounded()),
        values);
  }

  static byte[] key(String name) {
    return name.getBytes(UTF_8);
  }
}
