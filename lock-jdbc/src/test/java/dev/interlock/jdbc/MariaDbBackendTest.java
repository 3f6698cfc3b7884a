package dev.interlock.jdbc;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.database.MariaDbServer;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.junit.jupiter.api.AutoClose;
import org.mariadb.jdbc.MariaDbDataSource;

class MariaDbBackendTest extends BackendCases {

  @AutoClose private static final MariaDbServer server = Testbed.mariadb().withoutSync().start();

  @Override
  String uri() {
    return server.uri();
  }

  @Override
  DataSource source() {
    try {
      MariaDbDataSource source = new MariaDbDataSource(server.jdbcUrl());
      source.setUser(server.user());
      source.setPassword(server.password());
      return source;
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  JdbcDatabase database() {
    return JdbcDatabase.MARIADB;
  }
}
