package dev.interlock.jdbc;

import java.util.EnumMap;
import java.util.Map;

/**
 * The statements on the table of locks. Each changes the row of one name, or the rows of several
 * claims, and is a transaction of its own.
 *
 * <p>On PostgreSQL an UPDATE that has waited for a row checks its conditions again only if the row
 * was changed, and not if the other transaction was rolled back. So the statements for PostgreSQL
 * first lock the row, as {@code held}, and compare the time with the locked row. They also notify
 * the waiters.
 *
 * <p>Braces enclose expressions that {@link #expand} replaces. Times are microseconds since 1970,
 * so that time zones and the types of drivers do not matter.
 */
enum LockSql {

  /** Checks that the table has the columns. */
  CHECK("SELECT {columns}, l.purge_after FROM {table} AS l WHERE 1 = 0"),

  /** Reads the server's clock, and the row of a name. */
  READ(
      """
      SELECT {now}, {columns}
      FROM (SELECT 1 AS one) AS one LEFT JOIN {table} AS l ON l.name = :name
      """),

  /**
   * Grants an exclusive lock if the name is free, reserved for this client, or the claim has it
   * already. On PostgreSQL it also {@linkplain #INSERT inserts} a missing row, and returns the
   * previous row, followed by the token if the lock was granted.
   */
  TAKE(
      """
      UPDATE {table} AS l SET {granted}
      WHERE l.name = :name AND {grantable}
      """,
      """
      WITH seen AS (
        SELECT {columns} FROM {table} AS l WHERE l.name = :name
      ), granted AS (
        INSERT INTO {table} AS l ({names})
        SELECT {first}
        WHERE NOT EXISTS (SELECT 1 FROM seen AS l WHERE NOT {grantable}) {andInTime}
        ON CONFLICT (name) DO UPDATE SET {granted}
        WHERE {grantable}
        RETURNING l.fence
      )
      SELECT {now}, {columns}, (SELECT g.fence FROM granted AS g) AS granted
      FROM (SELECT 1 AS one) AS one LEFT JOIN seen AS l ON true
      """),

  /** Grants an exclusive lock whose name has no row yet. */
  INSERT("INSERT INTO {table} ({names}) VALUES ({first})"),

  /**
   * Marks that the next release must notify waiters and reserve the lock for this client, unless
   * another client has waited for longer.
   */
  MARK(
      """
      UPDATE {table}
      SET version = version + 1, awaited = 1,
        waiter = :waiter, waits_since = :since, waits_until = :until
      WHERE name = :name
        AND (waiter = :waiter OR waits_since > :since OR waits_until <= {now})
        AND expires_at > {now} {andInTime}
      """),

  /** Extends all claims that still hold their exclusive locks. */
  RENEW(
      """
      UPDATE {table} AS l
      SET version = l.version + 1, expires_at = {now} + :ttl, purge_after = {purgeAfter}
      WHERE l.name IN (:names...) AND l.claim IN (:claims...) AND l.revoked = 0
        AND l.expires_at > {now}
      """,
      """
      WITH held AS (
        {lockClaims}
      )
      {renewHeld}
      """),

  /** Extends the claims whose rows are not locked, and returns them. Only for PostgreSQL. */
  RENEW_UNLOCKED(
      """
      WITH held AS (
        {lockClaims} SKIP LOCKED
      )
      {renewHeld}
      RETURNING l.claim
      """),

  /** Reads which claims hold their exclusive locks. */
  HOLDING(
      """
      SELECT claim FROM {table} AS l
      WHERE l.name IN (:names...) AND l.claim IN (:claims...) AND l.revoked = 0
        AND l.expires_at > {now}
      """),

  /** Releases an exclusive lock, and reserves it for the marked client if there is one. */
  RELEASE(
      """
      UPDATE {table} AS l SET {released}
      WHERE l.name = :name AND l.claim = :claim AND l.expires_at > {now}
      """,
      """
      WITH held AS (
        SELECT l.name, l.expires_at, l.awaited FROM {table} AS l
        WHERE l.name = :name AND l.claim = :claim {andInTime}
        FOR UPDATE
      ), released AS (
        UPDATE {table} AS l SET {released}
        FROM held
        WHERE l.name = held.name AND held.expires_at > {now}
        RETURNING held.awaited
      )
      SELECT CASE WHEN awaited = 1 THEN {notified} ELSE true END FROM released
      """),

  /**
   * Defers the release of an exclusive lock: keeps it for a time without the claim. A late copy of
   * the statement does not keep it for longer.
   */
  RELEASE_AFTER(
      """
      UPDATE {table} AS l SET {deferred}
      WHERE l.name = :name AND l.claim IN (:claim, :deferred) AND l.revoked = 0
        AND l.expires_at > {now}
      """,
      """
      WITH held AS (
        SELECT l.name, l.expires_at FROM {table} AS l
        WHERE l.name = :name AND l.claim IN (:claim, :deferred) AND l.revoked = 0 {andInTime}
        FOR UPDATE
      ), deferred AS (
        UPDATE {table} AS l SET {deferred}
        FROM held
        WHERE l.name = held.name AND held.expires_at > {now}
        RETURNING l.awaited
      )
      SELECT CASE WHEN awaited = 1 THEN {notified} ELSE true END FROM deferred
      """),

  /** Writes the row of a shared or free lock if it has not changed since it was read. */
  REPLACE(
      """
      UPDATE {table} AS l SET {replaced}
      WHERE l.name = :name AND l.version = :version AND {now} < :before
      """,
      // The difference of the versions is zero, but makes the comparison depend on the locked row.
      """
      WITH held AS (
        SELECT l.name, l.version FROM {table} AS l
        WHERE l.name = :name AND l.version = :version {andInTime}
        FOR UPDATE
      ), replaced AS (
        UPDATE {table} AS l SET {replaced}
        FROM held
        WHERE l.name = held.name AND {now} < :before - (held.version - :version)
        RETURNING l.name
      )
      SELECT CASE WHEN :wake = 1 THEN {notified} ELSE true END FROM replaced
      """),

  /** Writes the first row of a shared lock. */
  INSERT_SHARED(
      """
      INSERT INTO {table} ({names})
      VALUES (:name, {now}, :fence, :claim, :holder, :kind, :capacity, :holds, :grantedAt,
        :expiresAt, :revoked, 0, '', 0, 0, :purgeAfter) {unlessPresent}
      """),

  /** Revokes an exclusive lock if the row has not changed since it was read. */
  REVOKE(
      """
      UPDATE {table} SET version = version + 1, revoked = 1
      WHERE name = :name AND version = :version {andInTime}
      """),

  /** Reads rows in the order of their names' bytes. */
  PAGE(
      """
      SELECT {now}, {columns} FROM {table} AS l
      WHERE l.name >= :from AND l.name < :before
      ORDER BY l.name LIMIT :limit
      """),

  /** Finds rows whose token need no longer be remembered. */
  OUTDATED(
      """
      SELECT name FROM {table}
      WHERE purge_after <= {now}
      ORDER BY purge_after LIMIT :limit
      """),

  /** Deletes such rows unless they have been used since. */
  PURGE(
      """
      DELETE FROM {table}
      WHERE name IN (:names...) AND purge_after <= {now} {andInTime}
      """);

  /**
   * True if the row has expired, is reserved for this client, or has the claim. A reservation whose
   * grant lies in the future was made before the clock was set back, and does not count.
   */
  private static final String GRANTABLE =
      """
      (l.expires_at <= {now}
        OR l.claim IN (:claim, :waiter) AND l.revoked = 0
        OR l.claim LIKE '@%' AND l.granted_at > {now})\
      """;

  /**
   * The assignments when an exclusive lock is granted. Others may wait already, because the lock
   * was reserved or an earlier copy of the request granted it.
   */
  private static final String GRANTED =
      """
      fence = {reported}(GREATEST(l.fence + 1, {tokenNow})), version = l.version + 1,
        claim = :claim, holder = :holder, kind = 'exclusive', capacity = 1, holds = :nothing,
        granted_at = {now}, expires_at = {now} + :ttl, revoked = 0,
        waits_until = CASE WHEN l.waiter = :waiter THEN 0 ELSE l.waits_until END,
        purge_after = {purgeAfter}\
      """;

  /** Locks the rows of claims, in an order in which two such statements cannot deadlock. */
  private static final String LOCK_CLAIMS =
      """
      SELECT l.name, l.expires_at FROM {table} AS l
        WHERE l.name IN (:names...) AND l.claim IN (:claims...) AND l.revoked = 0 {andInTime}
        ORDER BY l.name
        FOR UPDATE\
      """;

  /** Extends the claims whose rows were locked as {@code held}. */
  private static final String RENEW_HELD =
      """
      UPDATE {table} AS l
      SET version = l.version + 1, expires_at = {now} + :ttl, purge_after = {purgeAfter}
      FROM held
      WHERE l.name = held.name AND held.expires_at > {now}\
      """;

  /** The values of a new row when an exclusive lock is granted. */
  private static final String FIRST =
      """
      :name, {now}, {reported}({tokenNow}), :claim, :holder, 'exclusive', 1, :nothing,
        {now}, {now} + :ttl, 0, 0, '', 0, 0, {purgeAfter}\
      """;

  /**
   * The assignments when an exclusive lock is released. The longer the next client has waited, the
   * longer the lock is reserved for it, because it may have been too slow for earlier reservations.
   */
  private static final String RELEASED =
      """
      version = l.version + 1,
        claim = CASE WHEN l.waits_until > {now} THEN l.waiter ELSE '' END,
        expires_at = {now} + CASE WHEN l.waits_until > {now}
          THEN GREATEST({minReservation}, LEAST({maxReservation},
            ({now} - l.waits_since) / {waitsPerReservation}))
          ELSE 0 END,
        holder = :nothing, kind = 'exclusive', capacity = 1, holds = :nothing, revoked = 0,
        awaited = 0, waits_until = 0\
      """;

  /**
   * The assignments when the release of an exclusive lock is deferred. The claim follows the end,
   * because MariaDB evaluates from left to right.
   */
  private static final String DEFERRED =
      """
      version = l.version + 1,
        expires_at = CASE WHEN l.claim = :deferred AND l.expires_at < {now} + :delay
          THEN l.expires_at ELSE {now} + :delay END,
        claim = :deferred, purge_after = {purgeAfter}\
      """;

  /** The assignments when the whole row is written. */
  private static final String REPLACED =
      """
      version = l.version + 1, fence = :fence, claim = :claim, holder = :holder, kind = :kind,
        capacity = :capacity, holds = :holds, granted_at = :grantedAt, expires_at = :expiresAt,
        revoked = :revoked, awaited = 0, waits_until = 0, purge_after = :purgeAfter\
      """;

  /**
   * Not now(), which is the time at which the transaction began, even if it then waited for the
   * row.
   */
  private static final String POSTGRESQL_NOW =
      "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)";

  /**
   * UTC_TIMESTAMP is the time at which the statement began, even if it then waited for the row.
   * SYSDATE is the current time, but in the session's time zone. The difference between NOW and
   * SYSDATE is the time that the statement has waited. A change of the zone's offset meanwhile is a
   * multiple of 15 minutes, which the remainder removes.
   */
  private static final String MARIA_NOW =
      """
      (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
        + MOD(TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 900450000000, 900000000)
        - 450000000)\
      """;

  private static final String H2_NOW =
      "CAST(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP(6)) * 1000000 AS BIGINT)";

  private final String template;
  private final String postgreSql;

  LockSql(String template) {
    this(template, template);
  }

  LockSql(String template, String postgreSql) {
    this.template = template;
    this.postgreSql = postgreSql;
  }

  static Map<LockSql, Sql> all(JdbcDatabase database, String table) {
    Map<LockSql, Sql> all = new EnumMap<>(LockSql.class);
    for (LockSql one : values()) {
      all.put(one, one.on(database, table));
    }
    return all;
  }

  Sql on(JdbcDatabase database, String table) {
    boolean postgres = database == JdbcDatabase.POSTGRESQL;
    return new Sql(expand(postgres ? postgreSql : template, database).replace("{table}", table));
  }

  private static String expand(String template, JdbcDatabase database) {
    boolean postgres = database == JdbcDatabase.POSTGRESQL;
    boolean maria = database.isMaria();
    return template
        .replace("{lockClaims}", LOCK_CLAIMS)
        .replace("{renewHeld}", RENEW_HELD)
        .replace("{granted}", GRANTED)
        .replace("{grantable}", GRANTABLE)
        .replace("{first}", FIRST)
        .replace("{released}", RELEASED)
        .replace("{deferred}", DEFERRED)
        .replace("{replaced}", REPLACED)
        .replace("{names}", LockRow.COLUMNS + ", purge_after")
        .replace("{columns}", "l." + LockRow.COLUMNS.replace(", ", ", l."))
        // Not String.format, which may use other than ASCII digits.
        .replace("{minReservation}", Long.toString(LockTable.MIN_RESERVATION_MICROS))
        .replace("{maxReservation}", Long.toString(LockTable.MAX_RESERVATION_MICROS))
        .replace("{waitsPerReservation}", Long.toString(LockTable.WAITS_PER_RESERVATION))
        // The statement returns it as a generated key.
        .replace("{reported}", maria ? "LAST_INSERT_ID" : "")
        .replace("{notified}", "pg_notify(:channel, :payload) IS NULL")
        .replace("{unlessPresent}", postgres ? "ON CONFLICT (name) DO NOTHING" : "")
        // Always true. It limits the time for which the statement waits for the row.
        .replace(
            "{andInTime}",
            postgres ? "AND set_config('lock_timeout', :lockTimeout, true) <> ''" : "")
        // The first full hour after the time until which the token is kept.
        .replace("{purgeAfter}", "(({now} + :kept) {div} 3600000000 + 1) * 3600000000")
        // The lowest token that may be granted now: the clock in sixteenths of a millisecond.
        .replace("{tokenNow}", "({now} * 2 {div} 125)")
        .replace("{div}", maria ? "DIV" : "/")
        .replace("{now}", now(database));
  }

  /**
   * {@return an expression for the server's clock after the row has been locked; on H2 somewhat
   * earlier}
   */
  static String now(JdbcDatabase database) {
    return switch (database) {
      case POSTGRESQL -> POSTGRESQL_NOW;
      case MARIADB, MYSQL -> MARIA_NOW;
      case H2 -> H2_NOW;
    };
  }
}
