package dev.interlock.jdbc;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.io.BaseEncoding;
import dev.interlock.tck.Permissions;
import dev.interlock.tck.Server;
import dev.interlock.tck.ServerNode;
import dev.interlock.tck.StoreView;
import dev.interlock.testbed.PasswordFile;
import dev.interlock.testbed.database.DatabaseServer;
import dev.interlock.testbed.database.PostgresServer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A disposable database as the kit wants to see it. */
final class DatabaseUnderTest implements Server, ServerNode, StoreView {

  private final DatabaseServer server;
  private final String scheme;
  private final JdbcDatabase database;

  private @Nullable PasswordFile password;

  DatabaseUnderTest(DatabaseServer server) {
    this(server, server instanceof PostgresServer ? "postgresql" : "mariadb");
  }

  DatabaseUnderTest(DatabaseServer server, String scheme) {
    this.server = server;
    this.scheme = scheme;
    this.database = JdbcDatabase.ofScheme(scheme);
  }

  @Override
  public String uri() {
    return server.uri().replaceFirst("^[a-z]+", scheme);
  }

  @Override
  public List<ServerNode> nodes() {
    return server.canBeHurt() ? List.of(this) : List.of();
  }

  @Override
  public Optional<StoreView> view() {
    return Optional.of(this);
  }

  private String hex(String name) {
    String digits = BaseEncoding.base16().encode(name.getBytes(UTF_8));
    return database == JdbcDatabase.POSTGRESQL
        ? "decode('" + digits + "', 'hex')"
        : "x'" + digits + "'";
  }

  @Override
  public boolean delete(String name) throws IOException {
    server.execute("DELETE FROM interlock_lock WHERE name = " + hex(name));
    return true;
  }

  @Override
  public List<Entry> entries() throws IOException {
    List<Entry> entries = new ArrayList<>();
    String hex = database == JdbcDatabase.POSTGRESQL ? "encode(name, 'hex')" : "hex(name)";
    for (List<@Nullable String> row :
        server.query(
            "SELECT "
                + hex
                + ", CASE WHEN expires_at > "
                + LockSql.now(database)
                + " AND claim NOT LIKE '@%' THEN 'held' ELSE 'free' END FROM interlock_lock")) {
      byte[] name =
          BaseEncoding.base16().decode(Objects.requireNonNull(row.get(0)).toUpperCase(Locale.ROOT));
      Kind kind = "held".equals(row.get(1)) ? Kind.HOLDER : Kind.FENCE;
      entries.add(new Entry(kind, "row " + new String(name, UTF_8), true));
    }
    return entries;
  }

  @Override
  public Optional<Permissions> permissions() throws IOException {
    PasswordFile file = PasswordFile.create();
    password = file;
    boolean postgresql = database == JdbcDatabase.POSTGRESQL;
    server.execute(
        (postgresql ? "CREATE ROLE locker LOGIN PASSWORD '" : "CREATE USER locker IDENTIFIED BY '")
            + file.password()
            + "'");
    server.execute(JdbcLocks.schema(database, JdbcSettings.defaults()).split(";\n"));
    Permissions permissions =
        new Permissions() {
          @Override
          public String uri() {
            String uri = server.uri().replaceFirst("^[a-z]+", scheme);
            return uri.replaceFirst("//([^@]*@)?", "//locker@") + "?passwordFile=" + file.path();
          }

          @Override
          public void take() throws IOException {
            server.execute("REVOKE SELECT, INSERT, UPDATE, DELETE ON interlock_lock FROM locker");
          }

          @Override
          public void giveBack() throws IOException {
            server.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON interlock_lock TO locker");
          }

          @Override
          public boolean changePassword() throws IOException {
            String change =
                postgresql ? "ALTER ROLE locker PASSWORD '" : "ALTER USER locker IDENTIFIED BY '";
            String end =
                postgresql
                    ? "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        + " WHERE usename = 'locker'"
                    : "KILL USER locker";
            file.change(); // first: a database has one password of a user
            server.execute(change + file.password() + "'", end);
            return true;
          }
        };
    server.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON interlock_lock TO locker");
    return Optional.of(permissions);
  }

  @Override
  public void pause() {
    server.pause();
  }

  @Override
  public void resume() {
    server.resume();
  }

  @Override
  public void kill() {
    server.kill();
  }

  @Override
  public void restart() {
    server.restart();
  }

  @Override
  public void close() {
    try (server;
        PasswordFile unused = password) {
      // both end
    }
  }
}
