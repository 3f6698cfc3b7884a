package dev.interlock.jdbc;

import java.util.EnumMap;
import java.util.Map;

/**
 * The statements on the table of locks. Each changes the row of one name, or of some names for the
 * same claims, and is a transaction of its own.
 *
 * <p>On PostgreSQL an UPDATE that has waited for a row looks at its conditions again only if the
 * row was changed, and not if the other transaction was rolled back. So its statements lock the row
 * first, as {@code held}, and compare the time with what they have locked. They also notify those
 * who wait.
 *
 * <p>Braces enclose expressions: those of {@link #expand}. Times are microseconds since 1970, so
 * that neither time zones nor the types of drivers matter.
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
   * already. On PostgreSQL also {@linkplain #INSERT inserts} a row that is missing, and returns the
   * token, if the lock was granted, after the row as it was before.
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
   * Notes that the next release has to be notified, and reserves the name for this client, unless
   * another one waits for longer.
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
        SELECT l.name, l.expires_at FROM {table} AS l
        WHERE l.name IN (:names...) AND l.claim IN (:claims...) AND l.revoked = 0 {andInTime}
        ORDER BY l.name
        FOR UPDATE
      )
      UPDATE {table} AS l
      SET version = l.version + 1, expires_at = {now} + :ttl, purge_after = {purgeAfter}
      FROM held
      WHERE l.name = held.name AND held.expires_at > {now}
      """),

  /** Extends the claims whose rows nobody else has locked, and returns them. For PostgreSQL. */
  RENEW_UNLOCKED(
      """
      WITH held AS (
        SELECT l.name, l.expires_at FROM {table} AS l
        WHERE l.name IN (:names...) AND l.claim IN (:claims...) AND l.revoked = 0 {andInTime}
        ORDER BY l.name
        FOR UPDATE SKIP LOCKED
      )
      UPDATE {table} AS l
      SET version = l.version + 1, expires_at = {now} + :ttl, purge_after = {purgeAfter}
      FROM held
      WHERE l.name = held.name AND held.expires_at > {now}
      RETURNING l.claim
      """),

  /** Reads which claims hold their exclusive locks. */
  HOLDING(
      """
      SELECT claim FROM {table} AS l
      WHERE l.name IN (:names...) AND l.claim IN (:claims...) AND l.revoked = 0
        AND l.expires_at > {now}
      """),

  /** Releases an exclusive lock, or reserves it for the client that waits for it. */
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
   * Keeps an exclusive lock for a time without the claim. A late copy of the statement does not
   * keep it for longer.
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

  /** Writes the row of a name that is shared, or free, if it is still what has been read. */
  REPLACE(
      """
      UPDATE {table} AS l SET {replaced}
      WHERE l.name = :name AND l.version = :version AND {now} < :before
      """,
      // The difference of the versions makes the comparison depend on the locked row.
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

  /** Writes the first row of a name that is shared. */
  INSERT_SHARED(
      """
      INSERT INTO {table} ({names})
      VALUES (:name, {now}, :fence, :claim, :holder, :kind, :capacity, :holds, :grantedAt,
        :expiresAt, :revoked, 0, '', 0, 0, :purgeAfter) {unlessPresent}
      """),

  /** Revokes an exclusive lock, if the row is still what has been read. */
  REVOKE(
      """
      UPDATE {table} SET version = version + 1, revoked = 1
      WHERE name = :name AND version = :version {andInTime}
      """),

  /** Reads some rows by the order of their names' bytes. */
  PAGE(
      """
      SELECT {now}, {columns} FROM {table} AS l
      WHERE l.name >= :from AND l.name < :before
      ORDER BY l.name LIMIT :limit
      """),

  /** Finds rows whose token need not be remembered any longer. */
  OUTDATED(
      """
      SELECT name FROM {table}
      WHERE purge_after <= {now}
      ORDER BY purge_after LIMIT :limit
      """),

  /** Deletes such rows, unless they have been used since. */
  PURGE(
      """
      DELETE FROM {table}
      WHERE name IN (:names...) AND purge_after <= {now} {andInTime}
      """);

  /**
   * True if the row has ended, is reserved for this client, or has the claim. A reservation that
   * follows a grant of the future is of before the clock was set back.
   */
  private static final String GRANTABLE =
      """
      (l.expires_at <= {now}
        OR l.claim IN (:claim, :waiter) AND l.revoked = 0
        OR l.claim LIKE '@%' AND l.granted_at > {now})\
      """;

  /**
   * What a row is set to when an exclusive lock is granted. Others may wait for it already: while
   * it was reserved, or since an earlier copy of the request.
   */
  private static final String GRANTED =
      """
      fence = {reported}(GREATEST(l.fence + 1, {tokenNow})), version = l.version + 1,
        claim = :claim, holder = :holder, kind = 'exclusive', capacity = 1, holds = :nothing,
        granted_at = {now}, expires_at = {now} + :ttl, revoked = 0,
        waits_until = CASE WHEN l.waiter = :waiter THEN 0 ELSE l.waits_until END,
        purge_after = {purgeAfter}\
      """;

  /** The first row of a name, when an exclusive lock is granted. */
  private static final String FIRST =
      """
      :name, {now}, {reported}({tokenNow}), :claim, :holder, 'exclusive', 1, :nothing,
        {now}, {now} + :ttl, 0, 0, '', 0, 0, {purgeAfter}\
      """;

  /**
   * What a row is set to when an exclusive lock is released. The longer the next client has waited,
   * the longer is the name reserved for it, as it may have been too slow for its turns.
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
   * What a row is set to when the release of an exclusive lock is deferred. The claim comes after
   * the end: MariaDB evaluates from left to right.
   */
  private static final String DEFERRED =
      """
      version = l.version + 1,
        expires_at = CASE WHEN l.claim = :deferred AND l.expires_at < {now} + :delay
          THEN l.expires_at ELSE {now} + :delay END,
        claim = :deferred, purge_after = {purgeAfter}\
      """;

  /** What the row as a whole is set to. */
  private static final String REPLACED =
      """
      version = l.version + 1, fence = :fence, claim = :claim, holder = :holder, kind = :kind,
        capacity = :capacity, holds = :holds, granted_at = :grantedAt, expires_at = :expiresAt,
        revoked = :revoked, awaited = 0, waits_until = 0, purge_after = :purgeAfter\
      """;

  /** Not now(), which is when the transaction began, even if it then waited for the row. */
  private static final String POSTGRESQL_NOW =
      "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)";

  /**
   * UTC_TIMESTAMP is when the statement began, even if it then waited for the row. SYSDATE is the
   * time itself, but in the session's time zone. The difference between NOW and SYSDATE is how long
   * the statement has waited; a change of the zone's offset meanwhile is a multiple of 15 minutes,
   * which the remainder takes out.
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

  /** {@return the statements for one table} */
  static Map<LockSql, Sql> all(JdbcDatabase database, String table) {
    Map<LockSql, Sql> all = new EnumMap<>(LockSql.class);
    for (LockSql one : values()) {
      all.put(one, one.on(database, table));
    }
    return all;
  }

  /** {@return the statement for a table} */
  Sql on(JdbcDatabase database, String table) {
    boolean postgres = database == JdbcDatabase.POSTGRESQL;
    return new Sql(expand(postgres ? postgreSql : template, database).replace("{table}", table));
  }

  private static String expand(String template, JdbcDatabase database) {
    boolean postgres = database == JdbcDatabase.POSTGRESQL;
    boolean maria = database.isMaria();
    return template
        .replace("{granted}", GRANTED)
        .replace("{grantable}", GRANTABLE)
        .replace("{first}", FIRST)
        .replace("{released}", RELEASED)
        .replace("{deferred}", DEFERRED)
        .replace("{replaced}", REPLACED)
        .replace("{names}", LockRow.COLUMNS + ", purge_after")
        .replace("{columns}", "l." + LockRow.COLUMNS.replace(", ", ", l."))
        // Not formatted, as Arabic has other digits.
        .replace("{minReservation}", Long.toString(LockTable.MIN_RESERVATION_MICROS))
        .replace("{maxReservation}", Long.toString(LockTable.MAX_RESERVATION_MICROS))
        .replace("{waitsPerReservation}", Long.toString(LockTable.WAITS_PER_RESERVATION))
        // The statement returns it as a generated key.
        .replace("{reported}", maria ? "LAST_INSERT_ID" : "")
        .replace("{notified}", "pg_notify(:channel, :payload) IS NULL")
        .replace("{unlessPresent}", postgres ? "ON CONFLICT (name) DO NOTHING" : "")
        // Always true: keeps the statement from waiting too long for the row.
        .replace(
            "{andInTime}",
            postgres ? "AND set_config('lock_timeout', :lockTimeout, true) <> ''" : "")
        // The first full hour after the time until when the token is kept.
        .replace("{purgeAfter}", "(({now} + :kept) {div} 3600000000 + 1) * 3600000000")
        // The lowest token that may be granted now: the clock in sixteenths of a millisecond.
        .replace("{tokenNow}", "({now} * 2 {div} 125)")
        .replace("{div}", maria ? "DIV" : "/")
        .replace("{now}", now(database));
  }

  /** {@return the server's clock, as it is when the row has been locked; on H2 a little before} */
  static String now(JdbcDatabase database) {
    return switch (database) {
      case POSTGRESQL -> POSTGRESQL_NOW;
      case MARIADB, MYSQL -> MARIA_NOW;
      case H2 -> H2_NOW;
    };
  }
}
