package dev.interlock.jdbc;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockUnavailableException;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.sql.SQLTransientException;
import java.util.Locale;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Turns the exceptions of drivers into ours: a failure may pass, or a person has to mend it. */
final class Failures {

  private final String backend;
  private final String endpoint;
  private final String table;
  private volatile boolean admitted;

  Failures(String backend, String endpoint, String table) {
    this.backend = backend;
    this.endpoint = endpoint;
    this.table = table;
  }

  /** {@return whether it is useless to ask for notifications again} */
  static boolean isRefusedForGood(SQLException e) {
    return !(e instanceof SQLTransientException)
        && Stream.of(
                SqlFailure.TIMEOUT,
                SqlFailure.CONNECTION,
                SqlFailure.REFUSED_LOGIN,
                SqlFailure.OUT_OF_RESOURCES)
            .noneMatch(failure -> failure.isCauseOf(e));
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

  private LockException explain(
      SQLException e, BiFunction<String, Throwable, LockUnavailableException> passing) {
    String message = message(e);
    if (e instanceof Connections.SourceException) {
      return admitted ? passing.apply(message, e) : wrong(message, e);
    }
    if (SqlFailure.isCausedBy(e, UnknownContentException.class::isInstance)) {
      return wrong(
          "the table "
              + table
              + " holds what this version of Interlock does not know ("
              + message
              + "); use that version here, too, or another table",
          e);
    }
    return switch (SqlFailure.of(e)) {
      case REFUSED_LOGIN -> {
        String problem = "refuses the user or the password: " + message;
        yield admitted ? passing.apply(problem, e) : wrong(problem, e);
      }
      case MISSING_DATABASE -> wrong("does not have the database: " + message, e);
      case FORBIDDEN ->
          wrong(
              "does not permit the user what locks need, SELECT, INSERT, UPDATE and DELETE on "
                  + table
                  + ": "
                  + message,
              e);
      case MISSING_TABLE -> wrong("the table " + table + " is missing: " + message, e);
      case READ_ONLY -> passing.apply("is read-only, such as a replica; connect to the primary", e);
      case TIMEOUT -> passing.apply("no answer in time: " + message, e);
      case OUT_OF_RESOURCES ->
          passing.apply("has no connection left for us, or is out of resources: " + message, e);
      case CONNECTION -> passing.apply("the connection broke or could not be made: " + message, e);
      case MISSING_COLUMN, REFUSED_STATEMENT ->
          wrong("refuses the statement; is " + table + " a table of locks? " + message, e);
      case ROLLED_BACK, FOREIGN_STATEMENT, DUPLICATE_KEY, OTHER -> {
        boolean late = e instanceof SQLTransientConnectionException;
        yield passing.apply((late ? "no connection in time: " : "answered: ") + message, e);
      }
    };
  }

  /** {@return the failure of a request that was refused when it was repeated} */
  LockUnavailableException afterDoubt(LockConfigurationException e) {
    return passing("the connection broke, and then: " + e.getMessage(), e);
  }

  /** {@return the failure of a thread that was interrupted, and is so again} */
  LockUnavailableException interrupted(InterruptedException e) {
    Thread.currentThread().interrupt();
    return passing("the thread was interrupted while it connected", e);
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
