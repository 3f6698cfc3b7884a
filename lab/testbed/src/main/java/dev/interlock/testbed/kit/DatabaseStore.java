package dev.interlock.testbed.kit;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.tck.Permissions;
import dev.interlock.testbed.database.DatabaseServer;
import dev.interlock.testbed.database.PostgresServer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** A database that keeps locks as rows of one table. */
public class DatabaseStore extends StoreUnderTest {
  private final DatabaseServer server;
  private final Table table;

  /**
   * The table of locks.
   *
   * @param query a query for the key of each row, and whether its lock is held
   * @param expires whether rows of free locks are removed at some time
   * @param name returns the lock's name for a key; see {@link #fromHex}
   * @param deletion returns the statement that deletes the row of a lock, by the lock's name
   */
  public record Table(
      String query, boolean expires, UnaryOperator<String> name, UnaryOperator<String> deletion) {}

  /** {@return the name whose bytes have these hexadecimal digits} */
  public static String fromHex(String digits) {
    return new String(HexFormat.of().parseHex(digits), UTF_8);
  }

  /**
   * {@return the hexadecimal digits of a name's bytes} Names may contain characters that SQL
   * strings cannot.
   */
  public static String toHex(String name) {
    return HexFormat.of().formatHex(name.getBytes(UTF_8));
  }

  /**
   * Creates a store.
   *
   * @param uri the URI for clients
   */
  public DatabaseStore(DatabaseServer server, String uri, Table table) {
    super(server, uri);
    this.server = server;
    this.table = table;
  }

  @Override
  public boolean delete(String name) throws IOException {
    server.execute(table.deletion().apply(name));
    return true;
  }

  @Override
  public List<Entry> entries() throws IOException {
    List<Entry> entries = new ArrayList<>();
    for (List<@Nullable String> row : server.query(table.query())) {
      String name = table.name().apply(Objects.requireNonNull(row.get(0)));
      // PostgreSQL and MariaDB show true as these values.
      Kind kind = "t".equals(row.get(1)) || "1".equals(row.get(1)) ? Kind.HOLDER : Kind.FENCE;
      entries.add(new Entry(kind, "row " + name, table.expires()));
    }
    return entries;
  }

  /** Creates a user who may read and change the rows of a table. */
  protected final Permissions userPermissions(String tableName) throws IOException {
    User user = new User(tableName);
    user.allow();
    return user;
  }

  private final class User extends UserPermissions {
    private final String rights;
    private final boolean isPostgres = server instanceof PostgresServer;

    User(String tableName) throws IOException {
      super("locker");
      this.rights = " SELECT, INSERT, UPDATE, DELETE ON " + tableName;
      server.execute(
          (isPostgres ? "CREATE ROLE locker LOGIN" : "CREATE USER locker") + identifiedBy());
    }

    private String identifiedBy() {
      return (isPostgres ? " PASSWORD '" : " IDENTIFIED BY '") + file.password() + "'";
    }

    @Override
    public void deny() throws IOException {
      server.execute("REVOKE" + rights + " FROM locker");
    }

    @Override
    public void allow() throws IOException {
      server.execute("GRANT" + rights + " TO locker");
    }

    @Override
    public boolean changePassword() throws IOException {
      file.change(); // first, since a database knows only one password of a user
      server.execute(
          "ALTER USER locker" + identifiedBy(),
          isPostgres
              ? "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'locker'"
              : "KILL USER locker");
      return true;
    }
  }
}
