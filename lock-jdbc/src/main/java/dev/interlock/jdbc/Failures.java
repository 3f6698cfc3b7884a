package dev.interlock.jdbc;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockUnavailableException;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.sql.SQLTransientConnectionException;
import java.util.Locale;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Turns the exceptions of drivers into ours: whether a failure may pass or a person has to mend it,
 * and how. Drivers agree on the SQLState in part only, so the vendor's code decides where it must.
 */
final class Failures {

  /** Serialization failure and deadlock of every database; MariaDB's deadlock has 40001. */
  private static final Set<String> ROLLED_BACK = Set.of("40001", "40P01");

  /** Syntax, function, type; MariaDB uses 42000 for much else, too. */
  private static final Set<String> REFUSED_STATEMENT = Set.of("42601", "42883", "42804", "42846");

  /** MariaDB and MySQL: record changed since last read, lock wait timeout, deadlock. */
  private static final Set<Integer> MARIA_ROLLED_BACK = Set.of(1020, 1205, 1213);

  /** H2: lock time-out, deadlock, concurrent update. */
  private static final Set<Integer> H2_ROLLED_BACK = Set.of(50200, 40001, 90131);

  private final String backend;
  private final String endpoint;
  private final String table;
  private volatile boolean admitted;

  Failures(String backend, String endpoint, String table) {
    this.backend = backend;
    this.endpoint = endpoint;
    this.table = table;
  }

  /** {@return whether the database has undone the statement because of others} */
  static boolean isRolledBack(SQLException e) {
    return has(
        e,
        one ->
            ROLLED_BACK.contains(state(one))
                || MARIA_ROLLED_BACK.contains(one.getErrorCode())
                || H2_ROLLED_BACK.contains(one.getErrorCode()));
  }

  /**
   * {@return whether the server does not know a prepared statement of the driver, or has another
   * one of its name} Nothing was executed then.
   */
  static boolean isForeignStatement(SQLException e) {
    return has(e, one -> state(one).equals("26000") || state(one).equals("42P05"));
  }

  /** {@return whether the row is there already} */
  static boolean isDuplicateKey(SQLException e) {
    return has(
        e,
        one ->
            state(one).equals("23505")
                || (state(one).equals("23000") && one.getErrorCode() == 1062));
  }

  /** {@return whether the connection broke, without a time-out of ours} */
  static boolean isBroken(SQLException e) {
    return !isTimeout(e) && has(e, Failures::isConnection);
  }

  private static boolean isConnection(SQLException e) {
    String state = state(e);
    return state.startsWith("08")
        || state.startsWith("57P")
        || e.getErrorCode() == 90067
        || e.getErrorCode() == 90098;
  }

  private static boolean isTimeout(SQLException e) {
    return has(
        e,
        one ->
            one instanceof SQLTimeoutException
                || state(one).equals("55P03")
                || state(one).equals("57014")
                || one.getErrorCode() == 1969
                || one.getErrorCode() == 3024
                || hasCause(one, java.net.SocketTimeoutException.class));
  }

  /** {@return whether the server takes no writes, such as a replica} */
  static boolean isReadOnly(SQLException e) {
    return has(e, Failures::isRefusedWrite);
  }

  /** {@return whether it is useless to ask for notifications again} */
  static boolean isRefusedForGood(SQLException e) {
    return !isTimeout(e)
        && !has(e, Failures::isConnection)
        && !has(e, Failures::isRefusedLogin)
        && !(e instanceof java.sql.SQLTransientException)
        && !has(e, one -> state(one).startsWith("53"));
  }

  private static boolean hasCause(Throwable e, Class<?> type) {
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (type.isInstance(cause)) {
        return true;
      }
    }
    return false;
  }

  /** Looks at the causes and the chains, of which pools and drivers make use. */
  private static boolean has(Throwable e, Predicate<SQLException> test) {
    int depth = 0;
    for (Throwable cause = e; cause != null && depth++ < 20; cause = cause.getCause()) {
      if (cause instanceof SQLException sql) {
        if (test.test(sql)) {
          return true;
        }
        SQLException next = sql.getNextException();
        if (next != null && next != e && next != sql.getCause() && test.test(next)) {
          return true;
        }
      }
    }
    return false;
  }

  private static String state(SQLException e) {
    return e.getSQLState() == null ? "" : e.getSQLState();
  }

  /**
   * Notes that the database has let this client in. From now on a refused login may pass: the
   * password is being changed on one side, and not yet on the other.
   */
  void noteAdmission() {
    admitted = true;
  }

  /** {@return the failure as one of ours} */
  LockException explain(SQLException e) {
    return explain(e, this::passing);
  }

  /** {@return the failure to get a connection: nothing was sent} */
  LockException notSent(SQLException e) {
    return explain(e, this::passingUnsent);
  }

  private interface Passing {
    LockUnavailableException because(String problem, Throwable cause);
  }

  private LockException explain(SQLException e, Passing passing) {
    if (e instanceof Connections.SourceException) {
      return admitted ? passing.because(message(e), e) : wrong(message(e), e);
    }
    if (has(e, UnknownContentException.class::isInstance)) {
      return wrong(
          "the table "
              + table
              + " holds what this version of Interlock does not know ("
              + message(e)
              + "); use that version here, too, or another table",
          e);
    }
    if (has(e, Failures::isRefusedLogin)) {
      String problem = "refuses the user or the password: " + message(e);
      return admitted ? passing.because(problem, e) : wrong(problem, e);
    }
    if (has(e, Failures::isMissingDatabase)) {
      return wrong("does not have the database: " + message(e), e);
    }
    if (has(e, Failures::isForbidden)) {
      return wrong(
          "does not permit the user what locks need, SELECT, INSERT, UPDATE and DELETE on "
              + table
              + ": "
              + message(e),
          e);
    }
    if (isMissingTable(e)) {
      return wrong("the table " + table + " is missing: " + message(e), e);
    }
    if (isReadOnly(e)) {
      return passing.because("is read-only, such as a replica; connect to the primary", e);
    }
    if (isTimeout(e)) {
      return passing.because("no answer in time: " + message(e), e);
    }
    if (has(e, one -> state(one).startsWith("53") || one.getErrorCode() == 1040)) {
      return passing.because(
          "has no connection left for us, or is out of resources: " + message(e), e);
    }
    if (has(e, Failures::isConnection)) {
      return passing.because("the connection broke or could not be made: " + message(e), e);
    }
    if (isMissingColumn(e) || has(e, one -> REFUSED_STATEMENT.contains(state(one)))) {
      return wrong("refuses the statement; is " + table + " a table of locks? " + message(e), e);
    }
    if (e instanceof SQLTransientConnectionException) {
      return passing.because("no connection in time: " + message(e), e);
    }
    return passing.because("answered: " + message(e), e);
  }

  private static boolean isRefusedLogin(SQLException e) {
    return state(e).startsWith("28") || e.getErrorCode() == 1045 || e.getErrorCode() == 1698;
  }

  private static boolean isMissingDatabase(SQLException e) {
    return state(e).startsWith("3D")
        || state(e).equals("3F000")
        || e.getErrorCode() == 1049
        || e.getErrorCode() == 90146
        || e.getErrorCode() == 90149;
  }

  private static boolean isForbidden(SQLException e) {
    int code = e.getErrorCode();
    return state(e).equals("42501")
        || code == 1044
        || code == 1142
        || code == 1143
        || code == 1227
        || code == 90096;
  }

  private static boolean isRefusedWrite(SQLException e) {
    return state(e).equals("25006")
        || e.getErrorCode() == 1290
        || e.getErrorCode() == 1792
        || e.getErrorCode() == 1836
        || e.getErrorCode() == 90097;
  }

  /** {@return whether the table is not there} */
  static boolean isMissingTable(SQLException e) {
    return has(
        e,
        one ->
            state(one).equals("42P01")
                || state(one).equals("42S02")
                || state(one).equals("42S03")
                || state(one).equals("42S04")
                || one.getErrorCode() == 1146);
  }

  /** {@return whether the table lacks a column} */
  static boolean isMissingColumn(SQLException e) {
    return has(
        e,
        one ->
            state(one).equals("42703") || state(one).equals("42S22") || one.getErrorCode() == 1054);
  }

  /** {@return the failure of a request that was refused when it was repeated} */
  LockUnavailableException afterDoubt(LockConfigurationException e) {
    return passing("the connection broke, and then: " + e.getMessage(), e);
  }

  LockUnavailableException passing(String problem, @Nullable Throwable cause) {
    return new LockUnavailableException(backend, endpoint, problem, cause);
  }

  LockUnavailableException passingUnsent(String problem, @Nullable Throwable cause) {
    return LockUnavailableException.notSent(backend, endpoint, problem, cause);
  }

  LockConfigurationException wrong(String problem, @Nullable Throwable cause) {
    return new LockConfigurationException(backend + " at " + endpoint + ": " + problem, cause);
  }

  /** The innermost message says most. Statements, which H2 appends, are left out. */
  static String message(SQLException e) {
    Throwable inner = e;
    for (int depth = 0; depth < 20 && inner.getCause() instanceof SQLException cause; depth++) {
      inner = cause;
    }
    String message = String.valueOf(inner.getMessage()).strip();
    int statement = message.toLowerCase(Locale.ROOT).indexOf("; sql statement:");
    String shown = statement < 0 ? message : message.substring(0, statement);
    return shown.lines().findFirst().orElse("").strip();
  }
}
