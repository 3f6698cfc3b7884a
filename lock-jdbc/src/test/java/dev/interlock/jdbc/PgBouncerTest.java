package dev.interlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.abort;

import com.zaxxer.hikari.HikariDataSource;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.ReleaseOutcome;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.database.PostgresServer;
import dev.interlock.testbed.install.BinaryInstallation;
import dev.interlock.testbed.install.UnsuitableSourceException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** PgBouncer in transaction mode: each statement may reach another session of the server. */
@Tag("extended")
class PgBouncerTest {

  @TempDir Path directory;

  private Process start(PostgresServer server, int port) throws Exception {
    BinaryInstallation pgbouncer;
    try {
      pgbouncer = BinaryInstallation.find("pgbouncer", "interlock.pgbouncer.binary");
    } catch (UnsuitableSourceException e) {
      return abort(e.getMessage());
    }
    URI address = URI.create(server.uri());
    Path settings = directory.resolve("pgbouncer.ini");
    Files.writeString(
        settings,
        """
        [databases]
        %s = host=127.0.0.1 port=%d user=%s password=%s
        [pgbouncer]
        listen_addr = 127.0.0.1
        listen_port = %d
        unix_socket_dir =
        auth_type = any
        pool_mode = transaction
        default_pool_size = 2
        ignore_startup_parameters = extra_float_digits
        """
            .formatted(
                address.getPath().substring(1),
                address.getPort(),
                server.user(),
                server.password(),
                port));
    // PgBouncer refuses to run as root.
    assertTrue(directory.toFile().setExecutable(true, false), "cannot be entered");
    List<String> command =
        new ArrayList<>(List.of(pgbouncer.program().toString(), settings.toString()));
    if (System.getProperty("user.name").equals("root")) {
      command.addAll(1, List.of("-u", "nobody"));
    }
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve("output").toFile());
    builder.environment().putAll(pgbouncer.environment());
    Process process = builder.start();
    for (long end = System.nanoTime() + Backends.TIMEOUT.toNanos(); ; Thread.sleep(20)) {
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        assertTrue(socket.isConnected());
        return process;
      } catch (IOException e) {
        assertTrue(
            process.isAlive() && System.nanoTime() - end < 0,
            () -> "PgBouncer does not start; see its output");
      }
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  @Test
  void aPoolerDoesNotMixUpPreparedStatements() throws Exception {
    int port = freePort();
    ExecutorService threads = Executors.newCachedThreadPool();
    try (PostgresServer server = Testbed.postgresql().withoutSync().start();
        HikariDataSource pool = new HikariDataSource()) {
      Process pgbouncer = start(server, port);
      String own = ":" + URI.create(server.uri()).getPort();
      pool.setJdbcUrl(server.jdbcUrl().replace(own, ":" + port));
      pool.setUsername(server.user());
      pool.setPassword(server.password());
      LockOptions options = LockOptions.builder().requestTimeout(Duration.ofSeconds(20)).build();
      try (LockClient byUri = LockClient.open(server.uri().replace(own, ":" + port), options);
          LockClient byPool = JdbcLocks.using(pool, options)) {
        List<Future<?>> results = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
          LockClient client = i % 2 == 0 ? byUri : byPool;
          String name = "job/" + i;
          results.add(
              threads.submit(
                  () -> {
                    for (int round = 0; round < 50; round++) {
                      Lease lease = client.lock(name).tryAcquire().orElseThrow();
                      if (round % 10 == 0) {
                        lease.renew();
                      }
                      assertEquals(ReleaseOutcome.RELEASED, lease.release());
                    }
                    return true;
                  }));
        }
        for (Future<?> result : results) {
          result.get(Backends.TIMEOUT.toSeconds(), TimeUnit.SECONDS);
        }
      } finally {
        pgbouncer.destroy();
        threads.shutdownNow();
      }
    }
  }
}
