package dev.interlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.database.DatabaseServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A distant client competes with clients near the server that acquire again at once. */
@Tag("extended")
class FarWaiterTest {
  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final int TURNS = 10;
  private static final int HOLD_MILLIS = 20;

  /** Acquires the lock or permits for one turn. */
  private interface Acquiring {
    Lease acquire(LockClient client) throws Exception;
  }

  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void close() {
    threads.shutdownNow();
  }

  @Test
  void aFarWaiterGetsItsTurnsOnPostgreSql() throws Exception {
    try (DatabaseServer server = Testbed.postgresql().withoutSync().start()) {
      compete(server, 2, client -> client.lock("job").acquire());
    }
  }

  @Test
  void aFarWaiterGetsItsTurnsOnMariaDb() throws Exception {
    try (DatabaseServer server = Testbed.mariadb().withoutSync().start()) {
      compete(server, 2, client -> client.lock("job").acquire());
    }
  }

  @Test
  void aFarWaiterGetsItsPermitsOnPostgreSql() throws Exception {
    try (DatabaseServer server = Testbed.postgresql().withoutSync().start()) {
      compete(server, 2, client -> client.semaphore("job", 1).acquire());
    }
  }

  @Test
  void aFarWaiterGetsItsPermitsOnMariaDb() throws Exception {
    try (DatabaseServer server = Testbed.mariadb().withoutSync().start()) {
      compete(server, 2, client -> client.semaphore("job", 1).acquire());
    }
  }

  private void compete(DatabaseServer server, int nearClients, Acquiring acquiring)
      throws Exception {
    LockOptions options = LockOptions.builder().ttl(Duration.ofSeconds(2)).build();
    List<LockClient> clients = new ArrayList<>();
    try (FaultProxy distance = FaultProxy.to("127.0.0.1", server.port())) {
      for (Direction direction : Direction.values()) {
        var unused = distance.delay(direction, Duration.ofMillis(5));
      }
      for (int i = 0; i < nearClients; i++) {
        clients.add(LockClient.open(server.uri(), options));
      }
      clients.add(
          LockClient.open(
              server.uri().replace(":" + server.port(), ":" + distance.port()), options));
      Queue<Integer> turns = new ConcurrentLinkedQueue<>();
      BooleanSupplier keepsListening = () -> Collections.frequency(turns, nearClients) < TURNS;
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < clients.size(); i++) {
        LockClient client = clients.get(i);
        int number = i;
        all.add(
            threads.submit(
                () -> {
                  while (keepsListening.getAsBoolean()) {
                    try (Lease lease = acquiring.acquire(client)) {
                      turns.add(number);
                      TimeUnit.MILLISECONDS.sleep(HOLD_MILLIS); // the work
                    }
                  }
                  return null;
                }));
      }
      for (Future<?> each : all) {
        each.get(60, TimeUnit.SECONDS);
      }
      List<Integer> sinceItCame =
          List.copyOf(turns).subList(List.copyOf(turns).indexOf(nearClients), turns.size());
      // The client begins to wait for its next turn while others have theirs.
      assertTrue(sinceItCame.size() <= 30 * TURNS, () -> "turns " + sinceItCame);
    } finally {
      clients.forEach(LockClient::close);
    }
  }
}
