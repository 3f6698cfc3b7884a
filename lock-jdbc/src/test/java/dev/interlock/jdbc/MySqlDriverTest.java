package dev.interlock.jdbc;

import com.mysql.cj.jdbc.MysqlDataSource;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.database.MariaDbServer;
import javax.sql.DataSource;
import org.junit.jupiter.api.AutoClose;

/** MySQL's driver and the code for MySQL on MariaDB, because there is no MySQL to test with. */
class MySqlDriverTest extends BackendCases {

  @AutoClose private static final MariaDbServer server = Testbed.mariadb().withoutSync().start();

  @Override
  String uri() {
    return server.uri().replace("mariadb:", "mysql:");
  }

  @Override
  DataSource source() {
    MysqlDataSource source = new MysqlDataSource();
    source.setUrl(server.jdbcUrl().replace("mariadb:", "mysql:"));
    source.setUser(server.user());
    source.setPassword(server.password());
    return source;
  }

  @Override
  JdbcDatabase database() {
    return JdbcDatabase.MYSQL;
  }
}
