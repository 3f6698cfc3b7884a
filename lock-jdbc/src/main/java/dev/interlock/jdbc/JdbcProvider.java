package dev.interlock.jdbc;

import dev.interlock.BackendInfo;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.UriParameter;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A database with a small pool of connections for its locks alone: {@code
 * postgresql://user:password@host:5432/database}, {@code mariadb:}, {@code mysql:}, and {@code
 * h2:mem:name} or {@code h2://host:9092/mem:name}.
 *
 * <p>The program brings the database's driver. {@link #parameters} lists the parameters; {@link
 * JdbcSettings} explains some of them.
 */
public final class JdbcProvider implements LockProvider {

  /** Does nothing. */
  public JdbcProvider() {}

  @Override
  public Set<String> schemes() {
    return Arrays.stream(JdbcDatabase.values())
        .map(JdbcDatabase::scheme)
        .collect(Collectors.toSet());
  }

  @Override
  public BackendInfo describe(String scheme) {
    return JdbcDatabase.ofScheme(scheme).info();
  }

  @Override
  public String example(String scheme) {
    return JdbcDatabase.ofScheme(scheme) == JdbcDatabase.H2
        ? "h2:mem:demo"
        : scheme + "://user:password@localhost/database";
  }

  @Override
  public List<UriParameter<?>> parameters(String scheme) {
    return JdbcUri.parameters(JdbcDatabase.ofScheme(scheme));
  }

  @Override
  public LockBackend open(LockUri uri, BackendContext context) {
    JdbcUri jdbc = new JdbcUri(uri, context.options().requestTimeout());
    OwnPool pool = OwnPool.open(jdbc);
    try {
      return BackendOpener.open(
          jdbc.database(),
          jdbc.endpoint(),
          pool.connections(),
          pool.driver(),
          jdbc.settings(),
          context,
          pool::close);
    } catch (RuntimeException | Error e) {
      pool.close();
      throw e;
    }
  }
}
