package dev.interlock.jdbc;

/**
 * How a database writes what the others write differently. Times are microseconds since 1970, so
 * that neither time zones nor the types of drivers matter.
 */
enum Dialect {
  POSTGRESQL(
      JdbcDatabase.POSTGRESQL,
      // Not now(), which is when the transaction began, even if it then waited for the row.
      "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)",
      "bytea",
      "bytea",
      "/"),

  MARIADB(JdbcDatabase.MARIADB, mariaNow(), "VARBINARY(1020)", "MEDIUMBLOB", "DIV"),

  MYSQL(JdbcDatabase.MYSQL, mariaNow(), "VARBINARY(1020)", "MEDIUMBLOB", "DIV"),

  H2(
      JdbcDatabase.H2,
      "CAST(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP(6)) * 1000000 AS BIGINT)",
      "VARBINARY(1020)",
      "VARBINARY(16777216)",
      "/");

  /** Tokens begin at the server's clock, in sixteenths of a millisecond. */
  private static final String MICROS_PER_TWO_TOKENS = "125";

  private final JdbcDatabase database;
  private final String now;
  private final String nameType;
  private final String bytesType;
  private final String divide;

  Dialect(JdbcDatabase database, String now, String nameType, String bytesType, String divide) {
    this.database = database;
    this.now = now;
    this.nameType = nameType;
    this.bytesType = bytesType;
    this.divide = divide;
  }

  /** {@return the dialect of a database} */
  static Dialect of(JdbcDatabase database) {
    return valueOf(database.name());
  }

  /**
   * UTC_TIMESTAMP is when the statement began, even if it then waited for the row. SYSDATE is the
   * time itself, but in the session's time zone. The difference between NOW and SYSDATE is how long
   * the statement has waited; a change of the zone's offset meanwhile is a multiple of 15 minutes,
   * which the remainder takes out.
   */
  private static String mariaNow() {
    return "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
        + " + MOD(TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 900450000000, 900000000)"
        + " - 450000000)";
  }

  JdbcDatabase database() {
    return database;
  }

  /** {@return the server's clock, as it is when the row has been locked; on H2 a little before} */
  String now() {
    return now;
  }

  String nameType() {
    return nameType;
  }

  String bytesType() {
    return bytesType;
  }

  /** {@return the lowest token that may be granted now} */
  String tokenNow() {
    return "(" + now + " * 2 " + divide + " " + MICROS_PER_TWO_TOKENS + ")";
  }

  /** {@return the token of {@link #tokenNow} for a given time} */
  static long token(long micros) {
    return micros * 2 / 125;
  }

  /** {@return the first full hour after a time} */
  String hourAfter(String micros) {
    String hour = "3600000000";
    return "((" + micros + ") " + divide + " " + hour + " + 1) * " + hour;
  }

  /**
   * {@return how long those whose turn it is are waited for, until they ask: longer if they poll}
   */
  long turnMicros() {
    return this == POSTGRESQL ? 200_000 : 800_000;
  }

  /** {@return how often those must ask who are to notice their turn} */
  long longestPollMicros() {
    return this == POSTGRESQL ? Long.MAX_VALUE : turnMicros() / 2;
  }

  boolean isMaria() {
    return this == MARIADB || this == MYSQL;
  }
}
