package dev.interlock.testbed.database;

import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DisposableServer;
import dev.interlock.testbed.server.Probe;
import java.io.IOException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * One database server. Clients use the database {@value #DATABASE} as the user {@value #USER}, who
 * has all permissions there and none elsewhere. The testbed itself connects as a superuser.
 *
 * <p>By default a commit is on disk before it is confirmed, so it survives a power failure and a
 * killed process.
 */
public abstract class DatabaseServer extends DisposableServer implements Deployment {
  /** The database of the clients. */
  public static final String DATABASE = "interlock";

  /** The user of the clients. */
  public static final String USER = "interlock";

  /** The password of that user. */
  public static final String PASSWORD = "secret";

  /**
   * Protects nothing, since the server listens only on this machine, and has only data of tests.
   */
  static final String ADMINISTRATORS_PASSWORD = "of the administrator";

  private static final Pattern VERSION = Pattern.compile("\\d+(\\.\\d+)+");

  private final Access access;

  /**
   * The endpoints of a server.
   *
   * @param uri the URI for clients, with the password
   */
  record Access(DatabaseEndpoint clients, DatabaseEndpoint administrator, String uri) {}

  DatabaseServer(String name, String source, Access access, Probe probe, @Nullable Parts parts) {
    super(name, access.clients().host(), access.clients().port(), source, probe, parts);
    this.access = access;
  }

  /**
   * {@return the URI for clients, for example {@code
   * postgresql://interlock:secret@127.0.0.1:15432/interlock}}
   */
  @Override
  public final String uri() {
    return access.uri();
  }

  /** {@return the URI for another user} */
  public final String uri(String user, String password) {
    return access.clients().as(user, password).uri();
  }

  /** {@return the JDBC URL, without user and password} */
  public final String jdbcUrl() {
    return access.clients().jdbcUrl();
  }

  /** {@return the user of the clients: {@value #USER}, or the one of a named endpoint} */
  public final String user() {
    return access.clients().user();
  }

  /** {@return the password of that user} */
  public final String password() {
    return access.clients().password();
  }

  /**
   * Executes statements in the clients' database one after the other, each in a transaction of its
   * own. The user is the superuser or, at a named endpoint, the user of its URI.
   *
   * @throws IOException if the server refuses a statement, or does not answer within 5 seconds
   */
  public final void execute(String... statements) throws IOException {
    try (Connection connection = access.administrator().connect(ANSWER_TIMEOUT);
        Statement statement = connection.createStatement()) {
      for (String sql : statements) {
        statement.execute(sql);
      }
    } catch (SQLException e) {
      throw new IOException(name() + ": " + e.getMessage(), e);
    }
  }

  /**
   * Runs a query as the user of {@link #execute}.
   *
   * @return the rows, each as the strings of its columns, null for NULL
   * @throws IOException if the server refuses the query, or does not answer within 5 seconds
   */
  public final List<List<@Nullable String>> query(String sql) throws IOException {
    try (Connection connection = access.administrator().connect(ANSWER_TIMEOUT);
        Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(sql)) {
      int columns = result.getMetaData().getColumnCount();
      List<List<@Nullable String>> rows = new ArrayList<>();
      while (result.next()) {
        List<@Nullable String> row = new ArrayList<>();
        for (int column = 1; column <= columns; column++) {
          row.add(result.getString(column));
        }
        rows.add(row);
      }
      return rows;
    } catch (SQLException e) {
      throw new IOException(name() + ": " + e.getMessage(), e);
    }
  }

  private String singleValue(String sql) throws IOException {
    return Objects.requireNonNull(query(sql).get(0).get(0));
  }

  @Override
  protected final String askVersion() throws IOException {
    String reported = singleValue("SELECT version()");
    Matcher version = VERSION.matcher(reported);
    return version.find() ? version.group() : reported;
  }

  /** {@return a query for the seconds since 1970} */
  abstract String timeQuery();

  @Override
  protected final long askTime() throws IOException {
    return Long.parseLong(singleValue(timeQuery()));
  }

  /** {@return this server; empty for a named endpoint} */
  @Override
  public final List<DatabaseServer> members() {
    return acceptsFaults() ? List.of(this) : List.of();
  }

  /** {@return this server; empty for a named endpoint} */
  @Override
  public final List<DatabaseServer> leaders() {
    return members();
  }

  /** Starts the server, or asks a named endpoint for its version. */
  final void awaitStart() {
    start();
  }
}
