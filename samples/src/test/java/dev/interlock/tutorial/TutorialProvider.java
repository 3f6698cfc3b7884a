package dev.interlock.tutorial;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.interlock.BackendInfo;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.LockUri.Endpoint;
import dev.interlock.spi.UriParameter;
import java.util.List;
import java.util.Set;

/** Serves {@code tutorial://user:password@host:5432/database}. */
public final class TutorialProvider implements LockProvider {

  @Override
  public Set<String> schemes() {
    return Set.of("tutorial");
  }

  @Override
  public BackendInfo describe(String scheme) {
    return TutorialBackend.INFO;
  }

  @Override
  public String example(String scheme) {
    return "tutorial://user:password@localhost:5432/database";
  }

  @Override
  public List<UriParameter<?>> parameters(String scheme) {
    return List.of(LockUri.PASSWORD);
  }

  @Override
  public LockBackend open(LockUri uri, BackendContext context) {
    Endpoint server = uri.endpoints(5432).get(0);

    long timeoutMillis = Math.max(250, context.options().requestTimeout().toMillis() / 2);
    String database = uri.path().isEmpty() ? "/postgres" : uri.path();
    HikariConfig pool = new HikariConfig();
    pool.setJdbcUrl("jdbc:postgresql://" + server + database);
    pool.setUsername(uri.user().orElse("postgres"));
    pool.setPassword(uri.password().orElse(""));
    // Half for the connection, half for the answer: without these a driver waits forever.
    pool.setConnectionTimeout(timeoutMillis);
    pool.setValidationTimeout(timeoutMillis); // or what is only slow is replaced by slower
    pool.addDataSourceProperty("socketTimeout", Math.max(1, timeoutMillis / 1000));
    pool.addDataSourceProperty("connectTimeout", Math.max(1, timeoutMillis / 1000));
    pool.setMinimumIdle(0);
    pool.setInitializationFailTimeout(-1);
    HikariDataSource connections = new HikariDataSource(pool);
    try {
      return new TutorialBackend(connections, server.toString());
    } catch (RuntimeException e) {
      connections.close();
      throw e;
    }
  }
}
