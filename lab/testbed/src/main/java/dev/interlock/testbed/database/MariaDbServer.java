package dev.interlock.testbed.database;

import dev.interlock.testbed.install.BinaryInstallation;
import dev.interlock.testbed.install.UnsuitableSourceException;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One MariaDB server. */
public final class MariaDbServer extends DatabaseServer {
  private static final String SCHEME = "mariadb";
  private static final String ADMINISTRATOR = "administrator";
  private static final int PROTOCOL_VERSION = 10;

  private MariaDbServer(String source, Access access, @Nullable Parts parts) {
    super("mariadbd", source, access, limit -> ready(access.clients(), limit), parts);
  }

  /** {@return whether the server greets with its protocol instead of an error} */
  private static boolean ready(DatabaseEndpoint endpoint, Duration limit) throws IOException {
    try (Socket socket = endpoint.socket(limit)) {
      DataInputStream in = new DataInputStream(socket.getInputStream());
      in.readInt(); // the packet's length and number
      return in.readByte() == PROTOCOL_VERSION;
    }
  }

  @Override
  String timeQuery() {
    return "SELECT floor(unix_timestamp(sysdate(6)))";
  }

  /** The settings of a MariaDB server before it is started. */
  public static final class Builder extends DatabaseBuilder<Builder, MariaDbServer> {
    public Builder() {
      super("MariaDB", SCHEME, 3306, ADMINISTRATOR, MariaDbServer::new);
    }

    @Override
    String[] withoutSyncSettings() {
      // With 0 instead of 2, a kill of the server would lose the last second.
      return new String[] {
        "innodb_flush_log_at_trx_commit = 2", "innodb_flush_method = nosync", "sync_binlog = 0"
      };
    }

    @Override
    BinaryInstallation find() throws UnsuitableSourceException {
      return BinaryInstallation.find("mariadbd", "interlock.mariadb.binary");
    }

    @Override
    Map<String, List<String>> files(int port, List<String> more) {
      List<String> settings =
          new ArrayList<>(
              List.of(
                  "[server]",
                  "bind-address = 127.0.0.1",
                  "port = " + port,
                  // Relative paths are below the data directory.
                  "socket = server.sock",
                  "pid-file = server.pid",
                  "skip-name-resolve",
                  "max_connections = 200",
                  "innodb_log_file_size = 16M"));
      settings.addAll(more);
      List<String> users =
          List.of(
              "DELETE FROM global_priv;",
              "FLUSH PRIVILEGES;",
              "CREATE DATABASE " + DATABASE + ";",
              "CREATE USER " + USER + " IDENTIFIED BY '" + PASSWORD + "';",
              "GRANT ALL ON " + DATABASE + ".* TO " + USER + ";",
              "CREATE USER " + ADMINISTRATOR + " IDENTIFIED BY '" + ADMINISTRATORS_PASSWORD + "';",
              "GRANT ALL ON *.* TO " + ADMINISTRATOR + " WITH GRANT OPTION;");
      return Map.of("settings.cnf", settings, "users.sql", users);
    }
  }
}
