package dev.interlock.jdbc;

import dev.interlock.tck.Permissions;
import dev.interlock.testbed.database.DatabaseServer;
import dev.interlock.testbed.database.PostgresServer;
import dev.interlock.testbed.kit.DatabaseStore;
import java.io.IOException;
import java.util.Optional;

/** A disposable database for the kit. */
final class DatabaseUnderTest extends DatabaseStore {

  private final DatabaseServer server;
  private final JdbcDatabase database;

  DatabaseUnderTest(DatabaseServer server) {
    this(server, server instanceof PostgresServer ? "postgresql" : "mariadb");
  }

  DatabaseUnderTest(DatabaseServer server, String scheme) {
    this(server, scheme, JdbcDatabase.ofScheme(scheme));
  }

  private DatabaseUnderTest(DatabaseServer server, String scheme, JdbcDatabase database) {
    super(server, server.uri().replaceFirst("^[a-z]+", scheme), table(database));
    this.server = server;
    this.database = database;
  }

  private static Table table(JdbcDatabase database) {
    boolean isPostgres = database == JdbcDatabase.POSTGRESQL;
    return new Table(
        "SELECT %s, expires_at > %s AND claim NOT LIKE '@%%' FROM interlock_lock"
            .formatted(isPostgres ? "encode(name, 'hex')" : "hex(name)", LockSql.now(database)),
        true,
        DatabaseStore::fromHex,
        name ->
            "DELETE FROM interlock_lock WHERE name = "
                + (isPostgres ? "decode('%s', 'hex')" : "x'%s'").formatted(toHex(name)));
  }

  @Override
  public Optional<Permissions> permissions() throws IOException {
    server.execute(JdbcLocks.schema(database, JdbcSettings.defaults()).split(";\n"));
    return Optional.of(userPermissions("interlock_lock"));
  }
}
