package dev.interlock.testbed.database;

import dev.interlock.testbed.install.BinaryInstallation;
import dev.interlock.testbed.install.UnsuitableSourceException;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One PostgreSQL server. Since it refuses to run as root, it runs as the user 65534 (nobody) if
 * this JVM runs as root.
 */
public final class PostgresServer extends DatabaseServer {
  static final String SCHEME = "postgresql";

  private static final String ADMINISTRATOR = "postgres";

  private PostgresServer(String source, Access access, @Nullable Parts parts) {
    super("postgres", source, access, limit -> ready(access.clients(), limit), parts);
  }

  /**
   * {@return whether the server asks for a password} A server that is starting or stopping, or has
   * too many clients, answers with an error instead.
   */
  private static boolean ready(DatabaseEndpoint endpoint, Duration limit) throws IOException {
    String user = "user\0" + endpoint.user() + "\0database\0" + endpoint.database() + "\0\0";
    byte[] parameters = user.getBytes(StandardCharsets.UTF_8);
    try (Socket socket = endpoint.socket(limit)) {
      DataOutputStream out = new DataOutputStream(socket.getOutputStream());
      out.writeInt(Integer.BYTES * 2 + parameters.length);
      out.writeInt(3 << 16); // the protocol's version
      out.write(parameters);
      out.flush();
      return new DataInputStream(socket.getInputStream()).readByte() == 'R';
    }
  }

  @Override
  String timeQuery() {
    return "SELECT floor(extract(epoch FROM clock_timestamp()))::bigint";
  }

  /** The settings of a PostgreSQL server before it is started. */
  public static final class Builder extends DatabaseBuilder<Builder, PostgresServer> {
    public Builder() {
      super("PostgreSQL", SCHEME, 5432, ADMINISTRATOR, PostgresServer::new);
    }

    @Override
    String[] withoutSyncSettings() {
      return new String[] {"fsync = off"};
    }

    @Override
    BinaryInstallation find() throws UnsuitableSourceException {
      return BinaryInstallation.find(
          "postgres", "interlock.postgresql.binary", "usr/lib/postgresql");
    }

    @Override
    Map<String, List<String>> files(int port, List<String> more) {
      List<String> settings =
          new ArrayList<>(
              List.of(
                  "listen_addresses = '127.0.0.1'",
                  "port = " + port,
                  "unix_socket_directories = ''",
                  "max_connections = 200"));
      settings.addAll(more);
      // one statement per line
      List<String> users =
          List.of(
              "CREATE ROLE " + USER + " LOGIN PASSWORD '" + PASSWORD + "';",
              "CREATE DATABASE " + DATABASE + " OWNER " + USER + ";");
      List<String> password = List.of(ADMINISTRATORS_PASSWORD);
      return Map.of("settings.conf", settings, "password", password, "users.sql", users);
    }
  }
}
