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

/**
 * Turns the exceptions of drivers into exceptions of the lock API: temporary failures and
 * misconfigurations.
 */
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

  /** {@return whether asking for notifications again would fail as well} */
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
   * Records that the database has accepted this client. From now on a refused login counts as
   * temporary, because the password may have changed on one side and not yet on the other.
   */
  void recordAdmission() {
    admitted = true;
  }

  /** {@return the failure as an exception of the lock API} */
  LockException explain(SQLException e) {
    return explain(e, this::temporary);
  }

  /** {@return the failure to get a connection, in which nothing was sent} */
  LockException notSent(SQLException e) {
    return explain(e, this::temporaryNotSent);
  }

  private LockException explain(
      SQLException e, BiFunction<String, Throwable, LockUnavailableException> temporary) {
    String message = message(e);
    if (e instanceof Connections.SourceException) {
      return admitted ? temporary.apply(message, e) : misconfigured(message, e);
    }
    if (SqlFailure.isCausedBy(e, UnknownContentException.class::isInstance)) {
      return misconfigured(
          "the table "
              + table
              + " has contents that this version of Interlock does not know ("
              + message
              + "); upgrade this program, or use another table",
          e);
    }
    return switch (SqlFailure.of(e)) {
      case REFUSED_LOGIN -> {
        String problem = "refuses the user or the password: " + message;
        yield admitted ? temporary.apply(problem, e) : misconfigured(problem, e);
      }
      case MISSING_DATABASE -> misconfigured("does not have the database: " + message, e);
      case FORBIDDEN ->
          misconfigured(
              "does not grant the user the rights that locks need, SELECT, INSERT, UPDATE and"
                  + " DELETE on "
                  + table
                  + ": "
                  + message,
              e);
      case MISSING_TABLE -> misconfigured("the table " + table + " is missing: " + message, e);
      case READ_ONLY ->
          temporary.apply("is read-only, such as a replica; connect to the primary", e);
      case TIMEOUT -> temporary.apply("no answer in time: " + message, e);
      case OUT_OF_RESOURCES ->
          temporary.apply("has no free connection, or is out of resources: " + message, e);
      case CONNECTION ->
          temporary.apply("the connection broke or could not be made: " + message, e);
      case MISSING_COLUMN, REFUSED_STATEMENT ->
          misconfigured("refuses the statement; is " + table + " a table of locks? " + message, e);
      case ROLLED_BACK, FOREIGN_STATEMENT, DUPLICATE_KEY, OTHER -> {
        boolean late = e instanceof SQLTransientConnectionException;
        yield temporary.apply((late ? "no connection in time: " : "answered: ") + message, e);
      }
    };
  }

  /**
   * {@return the failure of a repeated request that was refused, although the first one may have
   * been executed}
   */
  LockUnavailableException afterDoubt(LockConfigurationException e) {
    return temporary("the connection broke, and the repeated request failed: " + e.getMessage(), e);
  }

  /** {@return the failure of an interrupted thread, whose interrupt status this restores} */
  LockUnavailableException interrupted(InterruptedException e) {
    Thread.currentThread().interrupt();
    return temporary("interrupted while connecting", e);
  }

  LockUnavailableException temporary(String problem, @Nullable Throwable cause) {
    return new LockUnavailableException(backend, endpoint, problem, cause);
  }

  LockUnavailableException temporaryNotSent(String problem, @Nullable Throwable cause) {
    return LockUnavailableException.notSent(backend, endpoint, problem, cause);
  }

  LockConfigurationException misconfigured(String problem, @Nullable Throwable cause) {
    return new LockConfigurationException(backend + " at " + endpoint + ": " + problem, cause);
  }

  /** Returns the innermost message, which says most, without the statement that H2 appends. */
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
