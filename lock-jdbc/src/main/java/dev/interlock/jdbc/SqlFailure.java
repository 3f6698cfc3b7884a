package dev.interlock.jdbc;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import java.net.SocketTimeoutException;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.util.Arrays;
import java.util.function.Predicate;

/**
 * A kind of failure, which is recognized by prefixes of SQLStates and by the codes of MariaDB,
 * MySQL and H2. Drivers do not agree on all SQLStates, so the vendor's code decides where
 * necessary. If several kinds match, the first is the most useful to report.
 */
enum SqlFailure {
  REFUSED_LOGIN("28", 1045, 1698),

  MISSING_DATABASE("3D 3F000", 1049, 90146, 90149),

  FORBIDDEN("42501", 1044, 1142, 1143, 1227, 90096),

  MISSING_TABLE("42P01 42S02 42S03 42S04", 1146),

  /** The server accepts no writes, as a replica does not. */
  READ_ONLY("25006", 1290, 1792, 1836, 90097),

  TIMEOUT("55P03 57014", 1969, 3024) {
    @Override
    boolean matches(SQLException e) {
      return super.matches(e)
          || e instanceof SQLTimeoutException
          || isCausedBy(e, SocketTimeoutException.class::isInstance);
    }
  },

  OUT_OF_RESOURCES("53", 1040),

  /** The connection broke or could not be made. */
  CONNECTION("08 57P", 90067, 90098),

  MISSING_COLUMN("42703 42S22", 1054),

  /** Wrong syntax, function or type. MariaDB also uses 42000 for much else. */
  REFUSED_STATEMENT("42601 42883 42804 42846"),

  /**
   * The database rolled the statement back because of other transactions: serialization failure,
   * deadlock, record changed since last read, lock wait timeout, concurrent update.
   */
  ROLLED_BACK("40001 40P01", 1020, 1205, 1213, 50200, 40001, 90131),

  /**
   * The server does not know a prepared statement of the driver, or has another statement of that
   * name. Nothing was executed.
   */
  FOREIGN_STATEMENT("26000 42P05"),

  /** The row already exists. */
  DUPLICATE_KEY("23505", 1062),

  OTHER("") {
    @Override
    boolean matches(SQLException e) {
      return true;
    }
  };

  private static final int MAX_DEPTH = 20;

  private final ImmutableList<String> states;
  private final ImmutableSet<Integer> codes;

  SqlFailure(String states, Integer... codes) {
    this.states = ImmutableList.copyOf(states.split(" "));
    this.codes = ImmutableSet.copyOf(codes);
  }

  /** {@return whether an exception itself is of this kind} */
  boolean matches(SQLException e) {
    String state = e.getSQLState() == null ? "" : e.getSQLState();
    return states.stream().anyMatch(state::startsWith) || codes.contains(e.getErrorCode());
  }

  /**
   * {@return whether an exception, one of its causes, or the next exception of one of these is of
   * this kind} Pools and drivers use both chains.
   */
  boolean isCauseOf(SQLException e) {
    return isCausedBy(
        e,
        cause ->
            cause instanceof SQLException one
                && (matches(one)
                    || (one.getNextException() != null && matches(one.getNextException()))));
  }

  /** {@return the first kind that matches an exception} */
  static SqlFailure of(SQLException e) {
    return Arrays.stream(values()).filter(kind -> kind.isCauseOf(e)).findFirst().orElse(OTHER);
  }

  /** {@return whether the connection broke, and not because of the client's time-out} */
  static boolean isBroken(SQLException e) {
    return !TIMEOUT.isCauseOf(e) && CONNECTION.isCauseOf(e);
  }

  static boolean isCausedBy(Throwable e, Predicate<Throwable> test) {
    Throwable cause = e;
    for (int depth = 0; cause != null && depth < MAX_DEPTH; depth++) {
      if (test.test(cause)) {
        return true;
      }
      cause = cause.getCause();
    }
    return false;
  }
}
