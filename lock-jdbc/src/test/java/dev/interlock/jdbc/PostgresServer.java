package dev.interlock.jdbc;

import io.zonky.test.db.postgres.embedded.DefaultPostgresBinaryResolver;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.tukaani.xz.XZInputStream;

/**
 * A new PostgreSQL server, from the binaries of zonky's embedded PostgreSQL. Zonky itself cannot
 * start them as root where user namespaces are not allowed, as in most containers.
 *
 * <p>A shell starts the server, and stops it and removes its files when the pipe from this JVM
 * closes, however this JVM ends.
 */
public final class PostgresServer implements AutoCloseable {
  private static final String SERVE =
      """
      trap '' INT HUP TERM PIPE
      port=$1
      shift
      if bin/initdb --pgdata=data --username=postgres --auth=trust --encoding=UTF8 --locale=C \\
          --no-sync "$@" &&
        bin/pg_ctl --pgdata=data --log=data/log --wait --timeout=300 --options="-p $port" start
      then
        echo ready
        read -r end
      else
        cat data/log
      fi
      bin/pg_ctl --pgdata=data --mode=immediate --wait stop
      rm -rf -- "$PWD"
      """;

  // PostgreSQL refuses to run as root, so this switches to the user "nobody"
  private static final String AS_NOBODY =
      """
      if [ "$(id -u)" = 0 ]; then
        set -- setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
        if ! setpriv --reuid=65534 --regid=65534 --clear-groups true || ! chown -R 65534:65534 .
        then
          echo "PostgreSQL refuses to run as root, and this root may not become another user:"
          echo "run the tests as a user, or with the capabilities CHOWN, SETUID and SETGID"
          rm -rf -- "$PWD"
          exit 1
        fi
      fi
      exec "$@"
      """;

  private final int port;
  private final Process process;

  /**
   * Starts a server and waits until it is ready.
   *
   * @param settings server settings, as {@code name=value}
   */
  public PostgresServer(String... settings) throws IOException {
    Path directory = Files.createTempDirectory("interlock-postgresql-");
    unpack(directory);
    try (ServerSocket probe = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = probe.getLocalPort();
    }
    List<String> command = new ArrayList<>();
    command.addAll(List.of("sh", "-c", AS_NOBODY, "sh", "sh", "-c", SERVE, "sh", "" + port));
    command.addAll(List.of("--set=listen_addresses=127.0.0.1", "--set=unix_socket_directories="));
    Arrays.stream(settings).map(setting -> "--set=" + setting).forEach(command::add);
    process =
        new ProcessBuilder(command).directory(directory.toFile()).redirectErrorStream(true).start();
    awaitReady();
  }

  private static void unpack(Path directory) throws IOException {
    String arch = System.getProperty("os.arch").replace("amd64", "x86_64");
    String system = System.getProperty("os.name").replace("Mac OS X", "Darwin");
    try (InputStream archive = DefaultPostgresBinaryResolver.INSTANCE.getPgBinary(system, arch);
        TarArchiveInputStream tar = new TarArchiveInputStream(new XZInputStream(archive))) {
      for (TarArchiveEntry entry; (entry = tar.getNextEntry()) != null; ) {
        Path file = directory.resolve(entry.getName());
        if (entry.isDirectory()) {
          Files.createDirectories(file);
          continue;
        }
        Files.createDirectories(file.getParent());
        if (entry.isSymbolicLink()) {
          Files.createSymbolicLink(file, Path.of(entry.getLinkName()));
        } else {
          Files.copy(tar, file);
          file.toFile().setExecutable((entry.getMode() & 0100) != 0);
        }
      }
    }
  }

  private void awaitReady() throws IOException {
    StringBuilder said = new StringBuilder();
    BufferedReader output = process.inputReader();
    for (String line; (line = output.readLine()) != null; said.append(line).append('\n')) {
      if (line.equals("ready")) {
        return;
      }
    }
    throw new IOException("PostgreSQL did not start:\n" + said);
  }

  /** {@return the URI of a database, for {@code postgresql:} clients} */
  public String uri(String database) {
    return "postgresql://postgres:postgres@127.0.0.1:" + port + "/" + database;
  }

  @Override
  public void close() throws IOException, InterruptedException {
    process.getOutputStream().close();
    process.getInputStream().transferTo(OutputStream.nullOutputStream());
    process.waitFor();
  }
}
