package dev.interlock.jdbc;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.Share;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;

/**
 * The row of one name at one moment of the server's clock. Times are microseconds since 1970.
 *
 * @param now the server's clock
 * @param name the lock's name
 * @param version a number that changes with every change of the row, and never returns to an
 *     earlier value; 0 if the name has no row
 * @param fence the last fencing token
 * @param claim the claim that holds an exclusive lock; if the lock is free but {@linkplain
 *     #isReserved reserved}, the waiting client; empty if the lock is free or shared
 * @param holder the label of that claim
 * @param kind the kind of lock for which the name is used
 * @param capacity the lock's capacity
 * @param holds the holders and waiters of a shared lock, see {@link SharedHolds}
 * @param grantedAt when the lock was granted to the claim
 * @param expiresAt when the last hold and the last wait end
 * @param revoked whether no hold may be renewed
 * @param awaited whether a release must notify waiters
 * @param waiter the client for which the next release of an exclusive lock reserves it
 * @param waitsSince the time since which that client has waited
 * @param waitsUntil the time until which a release reserves the lock for that client
 */
record LockRow(
    long now,
    String name,
    long version,
    long fence,
    String claim,
    String holder,
    LockKind kind,
    int capacity,
    String holds,
    long grantedAt,
    long expiresAt,
    boolean revoked,
    boolean awaited,
    String waiter,
    long waitsSince,
    long waitsUntil) {

  /** The prefix of the ids of waiting clients, with which no id of a claim begins. */
  static final String WAITER_PREFIX = "@";

  /** The columns that are selected, after the clock. */
  static final String COLUMNS =
      "name, version, fence, claim, holder, kind, capacity, holds, granted_at, expires_at, revoked,"
          + " awaited, waiter, waits_since, waits_until";

  /** {@return the state of a name that has no row} */
  static LockRow missing(long now, String name) {
    return new LockRow(
        now, name, 0, 0, "", "", LockKind.EXCLUSIVE, 1, "", 0, 0, false, false, "", 0, 0);
  }

  /**
   * Reads a row whose first column is the clock, followed by the {@link #COLUMNS}.
   *
   * @param name the name of the row, for the case that it is {@linkplain #missing} and there is
   *     only the clock
   * @throws SQLException if the values are not those of a lock
   */
  static LockRow read(ResultSet row, String name) throws SQLException {
    return row.getBytes(2) == null ? missing(row.getLong(1), name) : read(row);
  }

  static LockRow read(ResultSet row) throws SQLException {
    return new LockRow(
        row.getLong(1),
        new String(row.getBytes(2), UTF_8),
        row.getLong(3),
        row.getLong(4),
        row.getString(5),
        new String(row.getBytes(6), UTF_8),
        kind(row.getString(7)),
        row.getInt(8),
        new String(row.getBytes(9), UTF_8),
        row.getLong(10),
        row.getLong(11),
        row.getInt(12) != 0,
        row.getInt(13) != 0,
        row.getString(14),
        row.getLong(15),
        row.getLong(16));
  }

  private static LockKind kind(String text) throws SQLException {
    for (LockKind kind : LockKind.values()) {
      if (word(kind).equals(text)) {
        return kind;
      }
    }
    throw new UnknownContentException("kind \"" + text + "\"");
  }

  /** {@return the kind as it is written in the table} */
  static String word(LockKind kind) {
    return kind.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  boolean isMissing() {
    return version == 0;
  }

  /** {@return whether the lock is neither held nor awaited} */
  boolean isFree() {
    return expiresAt <= now;
  }

  /** {@return whether the lock is free, but reserved for a waiter that may still come} */
  boolean isReserved() {
    return !isFree() && claim.startsWith(WAITER_PREFIX);
  }

  /** {@return whether the next release reserves the lock for the client} */
  boolean isNext(String client) {
    return waitsUntil > now && waiter.equals(client);
  }

  /**
   * {@return whether the next release reserves the lock for a client that has waited at least since
   * then}
   */
  boolean isNextBefore(long since) {
    return waitsUntil > now && waitsSince <= since;
  }

  boolean isExclusive() {
    return kind == LockKind.EXCLUSIVE;
  }

  /** {@return whether the lock is held or awaited, and not exclusive} */
  boolean isShared() {
    return !isFree() && !isExclusive();
  }

  /** {@return the kind and capacity for which the name is in use} */
  Share use() {
    return new Share(kind, 1, capacity);
  }

  /**
   * {@return the holders and waiters of a shared lock}
   *
   * @param precedenceMicros how long a party keeps its precedence while there is room for more
   */
  SharedHolds shared(long precedenceMicros) throws SQLException {
    try {
      return SharedHolds.read(kind, capacity, revoked, holds, precedenceMicros, now);
    } catch (IllegalArgumentException e) {
      throw new UnknownContentException("holds: " + e.getMessage());
    }
  }

  /** {@return the state for the operators' API} */
  LockState state() throws SQLException {
    if (isFree() || isReserved()) {
      return LockStates.free(name);
    }
    if (!isExclusive()) {
      return shared(0).state(name);
    }
    return LockStates.held(
        name,
        LockStates.holder(holder, fence, remaining(), SharedHolds.instant(grantedAt)),
        List.of());
  }

  Duration remaining() {
    return Duration.of(Math.max(0, expiresAt - now), ChronoUnit.MICROS);
  }
}
