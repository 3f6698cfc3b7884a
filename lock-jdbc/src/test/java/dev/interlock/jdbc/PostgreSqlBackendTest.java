package dev.interlock.jdbc;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.database.PostgresServer;
import javax.sql.DataSource;
import org.junit.jupiter.api.AutoClose;
import org.postgresql.ds.PGSimpleDataSource;

class PostgreSqlBackendTest extends BackendCases {

  @AutoClose
  private static final PostgresServer server = Testbed.postgresql().withoutSync().start();

  @Override
  String uri() {
    return server.uri();
  }

  @Override
  DataSource source() {
    PGSimpleDataSource source = new PGSimpleDataSource();
    source.setUrl(server.jdbcUrl());
    source.setUser(server.user());
    source.setPassword(server.password());
    return source;
  }

  @Override
  JdbcDatabase database() {
    return JdbcDatabase.POSTGRESQL;
  }
}
