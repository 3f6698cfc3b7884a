/** Locks on PostgreSQL, MariaDB, MySQL and H2, through JDBC. */
module dev.interlock.jdbc {
  requires transitive dev.interlock.api;
  requires transitive java.sql;
  requires com.google.common;
  requires com.zaxxer.hikari;
  requires static org.postgresql.jdbc;
  requires org.slf4j;

  exports dev.interlock.jdbc;

  provides dev.interlock.spi.LockProvider with
      dev.interlock.jdbc.PostgreSqlProvider,
      dev.interlock.jdbc.MariaDbProvider,
      dev.interlock.jdbc.MySqlProvider,
      dev.interlock.jdbc.H2Provider;
}
