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
 * The row of one name, as it was at one moment of the server's clock. Times are microseconds since
 * 1970.
 *
 * @param now the server's clock
 * @param name the lock's name
 * @param version changes with every change of the row, and never returns to an earlier value; 0 if
 *     the name has no row
 * @param fence the last fencing token
 * @param claim who holds the name alone; empty if nobody does, or several hold it together; the
 *     {@linkplain #isReserved waiter} for whom a free name is reserved
 * @param holder the label of that claim
 * @param kind what the name is used as
 * @param capacity how much there is of it
 * @param holds who holds it together, see {@link SharedHolds}
 * @param grantedAt when it was granted to the claim
 * @param expiresAt when the last hold and the last wait end
 * @param revoked whether no hold may be renewed
 * @param awaited whether a release has to be notified
 * @param waiter the client for which the next release of a claim that holds the name alone reserves
 *     it
 * @param waitsSince since when that client waits
 * @param waitsUntil until when the next release does so
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

  /** Begins the ids of waiting clients, and no id of a claim. */
  static final String WAITER_PREFIX = "@";

  /** The columns that are selected, after the clock. */
  static final String COLUMNS =
      "name, version, fence, claim, holder, kind, capacity, holds, granted_at, expires_at, revoked,"
          + " awaited, waiter, waits_since, waits_until";

  /** {@return what is known of a name that has no row} */
  static LockRow missing(long now, String name) {
    return new LockRow(
        now, name, 0, 0, "", "", LockKind.EXCLUSIVE, 1, "", 0, 0, false, false, "", 0, 0);
  }

  /**
   * Reads a row whose first column is the clock, and the others are {@link #COLUMNS}.
   *
   * @param name of the row that is {@linkplain #missing}, if there is only the clock
   * @throws SQLException if the values are not those of a lock
   */
  static LockRow read(ResultSet row, String name) throws SQLException {
    return row.getBytes(2) == null ? missing(row.getLong(1), name) : read(row);
  }

  /** Reads a row that is there. */
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

  /** {@return whether it is neither held nor waited for} */
  boolean isFree() {
    return expiresAt <= now;
  }

  /** {@return whether nobody holds it, but a waiter may still come for whom it is reserved} */
  boolean isReserved() {
    return !isFree() && claim.startsWith(WAITER_PREFIX);
  }

  /** {@return whether the next release reserves it for the client} */
  boolean isNext(String client) {
    return waitsUntil > now && waiter.equals(client);
  }

  /** {@return whether the next release reserves it for a client that waits since then or before} */
  boolean isNextBefore(long since) {
    return waitsUntil > now && waitsSince <= since;
  }

  boolean isExclusive() {
    return kind == LockKind.EXCLUSIVE;
  }

  /** {@return whether it is held or waited for by those who hold it together with others} */
  boolean isShared() {
    return !isFree() && !isExclusive();
  }

  /** {@return how the name is in use, for messages} */
  Share use() {
    return new Share(kind, 1, capacity);
  }

  /**
   * {@return who holds it together with others, and who waits}
   *
   * @param turnMicros how long a turn lasts
   */
  SharedHolds shared(long turnMicros) throws SQLException {
    try {
      return SharedHolds.read(kind, capacity, revoked, holds, turnMicros, now);
    } catch (IllegalArgumentException e) {
      throw new UnknownContentException("holds: " + e.getMessage());
    }
  }

  /** {@return the state for people} */
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
