package dev.interlock.jdbc;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.spi.Claim;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Executes the {@linkplain LockSql statements} on the table of locks. Each is a transaction of its
 * own, so a client that is stopped or cut off never keeps a row locked. Every decision is made by
 * one statement, or by a comparison with the row's version.
 */
final class LockTable {

  static final int MAX_PURGED = 256;

  // Longer than a waiter takes to be notified of a release and to ask, and than its poll interval.
  static final long MIN_RESERVATION_MICROS = 300_000;
  // Waiters should be served within a second.
  static final long MAX_RESERVATION_MICROS = 900_000;
  static final int WAITS_PER_RESERVATION = 10;

  private static final long HOUR_MICROS = 3_600_000_000L;

  /** The id of this client in the rows of locks for which it waits. */
  final String waiter = LockRow.WAITER_PREFIX + UUID.randomUUID();

  private final JdbcDatabase database;
  private final String channel;
  private final long retentionMicros;
  private final Map<LockSql, Sql> statements;

  LockTable(JdbcDatabase database, JdbcSettings settings) {
    this.database = database;
    this.channel = ReleaseChannel.of(settings.table());
    this.retentionMicros = SharedHolds.micros(settings.fenceRetention());
    this.statements = LockSql.all(database, settings.table());
  }

  private Sql sql(LockSql statement) {
    return Objects.requireNonNull(statements.get(statement));
  }

  /**
   * Returns the time for which to reserve a lock for a client, in microseconds. It grows with the
   * time that the client has waited, because the client may have been too slow for earlier
   * reservations.
   */
  static long reservation(long waited) {
    return Math.max(
        MIN_RESERVATION_MICROS, Math.min(MAX_RESERVATION_MICROS, waited / WAITS_PER_RESERVATION));
  }

  /** {@return the lowest token that may be granted at a time of the server's clock} */
  static long token(long micros) {
    return micros * 2 / 125;
  }

  /** {@return the row of a name, which may be {@linkplain LockRow#isMissing missing}} */
  LockRow read(Session session, String name) throws SQLException {
    return session.query(
        sql(LockSql.READ),
        Map.of("name", key(name)),
        rows -> {
          rows.next();
          return LockRow.read(rows, name);
        });
  }

  /**
   * The outcome of an attempt to acquire an exclusive lock. If there is neither a token nor a held
   * row, another client was faster, and the attempt must be repeated.
   *
   * @param token the fencing token if the lock was granted, otherwise 0
   * @param inserted whether the name had no row before
   * @param row the row if the lock was not granted; null if it is not known
   */
  record Taken(long token, boolean inserted, @Nullable LockRow row) {}

  /**
   * Grants an exclusive lock if the name is free, reserved for this client, or the claim has it
   * already.
   */
  Taken take(Session session, Claim claim, long ttl) throws SQLException {
    Map<String, Object> values = values(claim);
    values.put("waiter", waiter);
    values.put("holder", claim.label().getBytes(UTF_8));
    values.put("ttl", ttl);
    values.put("kept", ttl + retentionMicros);
    if (database == JdbcDatabase.POSTGRESQL) {
      return session.query(sql(LockSql.TAKE), values, rows -> taken(rows, claim.name()));
    }
    OptionalLong token = session.updateReturningFence(sql(LockSql.TAKE), values);
    if (token.isPresent()) {
      return new Taken(token.getAsLong(), false, null);
    }
    LockRow row = read(session, claim.name());
    if (!row.isMissing()) {
      return new Taken(0, false, row);
    }
    try {
      token = session.updateReturningFence(sql(LockSql.INSERT), values);
      return new Taken(token.orElseThrow(), true, null);
    } catch (SQLException e) {
      if (!SqlFailure.DUPLICATE_KEY.isCauseOf(e)) {
        throw e;
      }
      return new Taken(0, false, null);
    }
  }

  private static Taken taken(ResultSet rows, String name) throws SQLException {
    rows.next();
    long token = rows.getLong("granted");
    return token > 0
        // The previous row is not needed, and may have contents that this version does not know.
        ? new Taken(token, rows.getBytes(2) == null, null)
        : new Taken(0, false, LockRow.read(rows, name));
  }

  /**
   * Marks that the next release of a lock, by any holder, must notify waiters and reserve the lock
   * for this client.
   *
   * @param since the time since which this client has waited
   * @param until the time until which a release reserves the lock
   * @return false if the lock has become free, or the row names a client that has waited for longer
   */
  boolean mark(Session session, String name, long since, long until) throws SQLException {
    return session.isWritten(
        sql(LockSql.MARK),
        Map.of("name", key(name), "waiter", waiter, "since", since, "until", until));
  }

  /**
   * Extends all claims that still hold their exclusive locks.
   *
   * @param ttl the same for all of them
   * @return the number of these claims
   */
  int renew(Session session, List<Claim> claims, long ttl) throws SQLException {
    return session.update(sql(LockSql.RENEW), renewing(claims, ttl));
  }

  /**
   * Extends the claims that still hold their exclusive locks and whose rows are not locked.
   *
   * @return the ids of the extended claims
   */
  Set<String> renewUnlocked(Session session, List<Claim> claims, long ttl) throws SQLException {
    return claims(session, LockSql.RENEW_UNLOCKED, renewing(claims, ttl));
  }

  /** {@return the ids of the claims that hold their exclusive locks} */
  Set<String> holding(Session session, List<Claim> claims) throws SQLException {
    return claims(session, LockSql.HOLDING, renewing(claims, 0));
  }

  private Set<String> claims(Session session, LockSql statement, Map<String, Object> values)
      throws SQLException {
    return new HashSet<>(session.list(sql(statement), values, rows -> rows.getString(1)));
  }

  /**
   * Lists names and ids separately: an id belongs to a single name, so they need not be compared in
   * pairs.
   */
  private Map<String, Object> renewing(List<Claim> claims, long ttl) {
    return Map.of(
        "names",
        claims.stream().map(claim -> key(claim.name())).toList(),
        "claims",
        claims.stream().map(Claim::id).toList(),
        "ttl",
        ttl,
        "kept",
        ttl + retentionMicros);
  }

  /**
   * Releases an exclusive lock, and notifies waiters if the row says so.
   *
   * @return whether the claim held the lock
   */
  boolean release(Session session, Claim claim) throws SQLException {
    return session.isWritten(sql(LockSql.RELEASE), values(claim));
  }

  /**
   * Defers the release of an exclusive lock, and notifies waiters if the row says so.
   *
   * @return whether the claim held the lock
   */
  boolean releaseAfter(Session session, Claim claim, long delay) throws SQLException {
    Map<String, Object> values = values(claim);
    values.put("delay", delay);
    values.put("kept", delay + retentionMicros);
    return session.isWritten(sql(LockSql.RELEASE_AFTER), values);
  }

  private Map<String, Object> values(Claim claim) {
    Map<String, Object> values = values(claim.name());
    values.put("claim", claim.id());
    values.put("deferred", claim.deferredId());
    values.put("nothing", new byte[0]);
    return values;
  }

  private Map<String, Object> values(String name) {
    Map<String, Object> values = new HashMap<>();
    values.put("name", key(name));
    values.put("channel", channel);
    values.put("payload", ReleaseChannel.payload(name));
    return values;
  }

  /**
   * Writes the row of a shared or free lock.
   *
   * @param row the row that was read
   * @param state the state to write
   * @param fence the last token
   * @param before the time of the server's clock before which the row may be written
   * @param wake whether to notify waiters
   * @return false if the row has changed since, or the time has passed
   */
  boolean replace(
      Session session, LockRow row, SharedHolds state, long fence, long before, boolean wake)
      throws SQLException {
    Map<String, Object> values = values(row.name(), state, fence);
    values.put("version", row.version());
    values.put("before", before);
    values.put("wake", wake ? 1 : 0);
    return session.isWritten(sql(LockSql.REPLACE), values);
  }

  /**
   * Writes the first row of a shared lock.
   *
   * @return false if the row exists by now
   */
  boolean insert(Session session, String name, SharedHolds state, long fence) throws SQLException {
    try {
      return session.isWritten(sql(LockSql.INSERT_SHARED), values(name, state, fence));
    } catch (SQLException e) {
      if (!SqlFailure.DUPLICATE_KEY.isCauseOf(e)) {
        throw e;
      }
      return false;
    }
  }

  private Map<String, Object> values(String name, SharedHolds state, long fence) {
    boolean free = state.isFree();
    Map<String, Object> values = values(name);
    values.put("fence", fence);
    values.put("claim", "");
    values.put("holder", new byte[0]);
    values.put("kind", free ? "exclusive" : LockRow.word(state.kind()));
    values.put("capacity", free ? 1 : state.capacity());
    values.put("holds", state.content().getBytes(UTF_8));
    values.put("grantedAt", 0);
    values.put("expiresAt", state.expiresAt());
    values.put("revoked", state.isRevoked() ? 1 : 0);
    values.put(
        "purgeAfter", ((state.expiresAt() + retentionMicros) / HOUR_MICROS + 1) * HOUR_MICROS);
    return values;
  }

  /**
   * Revokes an exclusive lock.
   *
   * @return false if the row has changed since
   */
  boolean revoke(Session session, LockRow row) throws SQLException {
    return session.isWritten(
        sql(LockSql.REVOKE), Map.of("name", key(row.name()), "version", row.version()));
  }

  /**
   * {@return rows in the order of their names' bytes, up to a limit}
   *
   * @param from the first name
   * @param before the first name after the range
   */
  List<LockRow> page(Session session, byte[] from, byte[] before, int limit) throws SQLException {
    return session.list(
        sql(LockSql.PAGE), Map.of("from", from, "before", before, "limit", limit), LockRow::read);
  }

  /** Deletes some rows whose token need no longer be remembered. Returns their number. */
  int purge(Session session) throws SQLException {
    List<byte[]> names =
        session.list(sql(LockSql.OUTDATED), Map.of("limit", MAX_PURGED), rows -> rows.getBytes(1));
    return names.isEmpty() ? 0 : session.update(sql(LockSql.PURGE), Map.of("names", names));
  }

  static byte[] key(String name) {
    return name.getBytes(UTF_8);
  }
}
