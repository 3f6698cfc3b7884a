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
 * One database server. Clients come to the database {@value #DATABASE} as the user {@value #USER},
 * who may do everything there and nothing elsewhere; the testbed itself comes as one who may do
 * everything.
 *
 * <p>What was committed is on disk before the client knows: the servers' own default, and the one
 * here. It survives a machine that loses power, so all the more a killed process.
 */
public abstract class DatabaseServer extends DisposableServer implements Deployment {
  /** The database of the clients. */
  public static final String DATABASE = "interlock";

  /** The user that clients come as. */
  public static final String USER = "interlock";

  /** The password of that user. */
  public static final String PASSWORD = "secret";

  /** Protects nothing: the server listens on this machine only, and holds data of tests. */
  static final String ADMINISTRATORS_PASSWORD = "of the administrator";

  private static final Pattern VERSION = Pattern.compile("\\d+(\\.\\d+)+");

  private final Access access;

  /**
   * How a server is reached.
   *
   * @param uri where clients connect, password included
   */
  record Access(DatabaseEndpoint clients, DatabaseEndpoint administrator, String uri) {}

  DatabaseServer(String name, String how, Access access, Probe probe, @Nullable Parts parts) {
    super(name, access.clients().host(), access.clients().port(), how, probe, parts);
    this.access = access;
  }

  /**
   * Where clients connect, for example {@code
   * postgresql://interlock:secret@127.0.0.1:15432/interlock}.
   */
  @Override
  public final String uri() {
    return access.uri();
  }

  /** {@return where clients connect as another user} */
  public final String uri(String user, String password) {
    return access.clients().as(user, password).uri();
  }

  /** {@return where clients connect, as JDBC takes it: without user and password} */
  public final String jdbcUrl() {
    return access.clients().jdbcUrl();
  }

  /** {@return the user that clients come as: {@value #USER}, or the one of a named endpoint} */
  public final String user() {
    return access.clients().user();
  }

  /** {@return the password of that user} */
  public final String password() {
    return access.clients().password();
  }

  /**
   * Executes statements in the clients' database, one after the other, as one who may do
   * everything; at a named endpoint as the user that it names. Each is committed by itself.
   *
   * @throws IOException if the server refuses one, or does not answer within 5 seconds
   */
  public final void execute(String... statements) throws IOException {
    try (Connection connection = access.administrator().connect(ANSWER);
        Statement statement = connection.createStatement()) {
      for (String sql : statements) {
        statement.execute(sql);
      }
    } catch (SQLException e) {
      throw new IOException(name() + ": " + e.getMessage(), e);
    }
  }

  /**
   * Asks as {@link #execute} does.
   *
   * @return the rows, each as the texts of its columns, null for NULL
   * @throws IOException if the server refuses, or does not answer within 5 seconds
   */
  public final List<List<@Nullable String>> query(String sql) throws IOException {
    try (Connection connection = access.administrator().connect(ANSWER);
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

  private String only(String sql) throws IOException {
    return Objects.requireNonNull(query(sql).get(0).get(0));
  }

  @Override
  protected final String askVersion() throws IOException {
    String told = only("SELECT version()");
    Matcher version = VERSION.matcher(told);
    return version.find() ? version.group() : told;
  }

  /** {@return a question for the seconds since 1970} */
  abstract String timeQuestion();

  @Override
  protected final long askTime() throws IOException {
    return Long.parseLong(only(timeQuestion()));
  }

  /** This server itself; empty if it is a named endpoint. */
  @Override
  public final List<DatabaseServer> members() {
    return canBeHurt() ? List.of(this) : List.of();
  }

  /** This server itself; empty if it is a named endpoint. */
  @Override
  public final List<DatabaseServer> leaders() {
    return members();
  }

  /** Starts the server, or asks one of the user for its version. */
  final void awaitStart() {
    start();
  }
}
