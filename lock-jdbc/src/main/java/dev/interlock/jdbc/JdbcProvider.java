package dev.interlock.jdbc;

import dev.interlock.BackendInfo;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.UriParameter;
import java.util.List;
import java.util.Set;

/** Opens lock clients on a database by a URI, with a small pool of connections of their own. */
abstract class JdbcProvider implements LockProvider {

  private final JdbcDatabase database;

  JdbcProvider(JdbcDatabase database) {
    this.database = database;
  }

  @Override
  public final Set<String> schemes() {
    return Set.of(database.scheme());
  }

  @Override
  public final BackendInfo describe(String scheme) {
    return database.info();
  }

  @Override
  public String example(String scheme) {
    return scheme + "://user:password@localhost/database";
  }

  @Override
  public final List<UriParameter<?>> parameters(String scheme) {
    return JdbcUri.parameters(database);
  }

  @Override
  public final LockBackend open(LockUri uri, BackendContext context) {
    JdbcUri jdbc = JdbcUri.read(uri, context.options().requestTimeout());
    OwnPool pool = OwnPool.open(jdbc);
    Connections connections =
        Connections.ofOwnPool(pool.connections(), jdbc.maxConnections(), context.time());
    // The listening connection does not come from the pool.
    Connections listening = Connections.ofProgram(pool.driver(), context.time());
    try {
      return new JdbcBackend(
          jdbc.database(),
          jdbc.endpoint(),
          jdbc.settings(),
          connections,
          listening,
          () -> {
            listening.close();
            pool.close();
          },
          context);
    } catch (RuntimeException | Error e) {
      connections.close();
      pool.close();
      throw e;
    }
  }
}
