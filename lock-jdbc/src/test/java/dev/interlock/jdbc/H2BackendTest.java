package dev.interlock.jdbc;

import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;

class H2BackendTest extends BackendCases {

  @Override
  String uri() {
    return "h2:mem:backend";
  }

  @Override
  DataSource source() {
    JdbcDataSource source = new JdbcDataSource();
    source.setUrl("jdbc:h2:mem:backend;DB_CLOSE_DELAY=-1");
    source.setUser("sa");
    return source;
  }

  @Override
  boolean looksAtTheClockLast() {
    return false;
  }

  @Override
  JdbcDatabase database() {
    return JdbcDatabase.H2;
  }
}
