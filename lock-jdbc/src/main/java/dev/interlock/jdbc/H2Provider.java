package dev.interlock.jdbc;

/**
 * H2, for tests: {@code h2:mem:name} in this JVM, {@code h2:file:/path}, or {@code
 * h2://host:9092/mem:name} on a server.
 *
 * <p>The program must provide the database's driver. {@link #parameters} lists the parameters;
 * {@link JdbcSettings} explains some of them.
 */
public final class H2Provider extends JdbcProvider {

  /** Does nothing. */
  public H2Provider() {
    super(JdbcDatabase.H2);
  }

  @Override
  public String example(String scheme) {
    return "h2:mem:demo";
  }
}
