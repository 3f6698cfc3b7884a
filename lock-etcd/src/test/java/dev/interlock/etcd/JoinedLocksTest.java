package dev.interlock.etcd;

import static dev.interlock.etcd.Backends.LONG_TIMEOUT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.etcd.EtcdServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Many threads of one client whose requests are joined, on a real server. */
class JoinedLocksTest {
  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final int THREADS = 40;
  private static final int TURNS = 10;

  @AutoClose("shutdownNow")
  private final ExecutorService threads = Executors.newCachedThreadPool();

  private interface Job {
    void work(int number) throws Exception;
  }

  /** Runs a job on all threads, which begin each round together. */
  private void together(Job job) throws Exception {
    CyclicBarrier round = new CyclicBarrier(THREADS);
    List<Future<?>> running = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      int number = i;
      running.add(
          threads.submit(
              () -> {
                for (int n = 0; n < TURNS; n++) {
                  round.await(60, TimeUnit.SECONDS);
                  job.work(number);
                }
                return null;
              }));
    }
    for (Future<?> each : running) {
      each.get(120, TimeUnit.SECONDS);
    }
  }

  @Test
  void manyThreadsHoldTheirOwnNamesWithFewRequests() throws Exception {
    try (EtcdCluster etcd = Testbed.etcd().withoutSync().start();
        LockClient client = LockClient.open(etcd.uri(), LONG_TIMEOUT)) {
      EtcdServer server = etcd.leader();
      ConcurrentHashMap<Integer, Long> tokens = new ConcurrentHashMap<>();
      client.lock("first").acquire().release();
      long before = Backends.requests(server);
      together(
          number -> {
            Lease lease = client.lock("own-" + number).acquire();
            Long last = tokens.put(number, lease.fencingToken());
            assertTrue(last == null || last < lease.fencingToken());
            assertEquals(ReleaseOutcome.RELEASED, lease.release());
          });
      long cycles = THREADS * TURNS;
      long requests = Backends.requests(server) - before;
      assertTrue(requests < cycles, () -> requests + " requests for " + cycles + " cycles");
      assertEquals(0, Backends.keys(server, "interlock/lock/"));
    }
  }

  /** The revisions at which their keys were put order them. */
  @Test
  void threadsThatJoinOneQueueTogetherGetDifferentTokens() throws Exception {
    try (EtcdCluster etcd = Testbed.etcd().withoutSync().start();
        LockClient client = LockClient.open(etcd.uri(), LONG_TIMEOUT)) {
      Set<Long> tokens = ConcurrentHashMap.newKeySet();
      together(
          number -> {
            try (Lease lease = client.semaphore("permits", THREADS).acquire()) {
              tokens.add(lease.fencingToken());
            }
            try (Lease lease = client.lock("own-" + number % 8).acquire()) {
              assertTrue(lease.isHeld());
            }
          });
      assertEquals(THREADS * TURNS, tokens.size());
    }
  }

  @Test
  void aForbiddenNameDoesNotAffectTheOthers() throws Exception {
    try (EtcdCluster etcd = Testbed.etcd().password("s3cret").withoutSync().start()) {
      EtcdServer server = etcd.leader();
      Backends.addUser(server, "app", "READ");
      Backends.permit(server, "app", "READWRITE", "interlock/session/");
      Backends.permit(server, "app", "READWRITE", "interlock/lock/own-");
      try (LockClient client = LockClient.open(Backends.as("app", etcd), LONG_TIMEOUT)) {
        together(
            number -> {
              if (number % 8 == 0) {
                assertThrows(
                    LockConfigurationException.class,
                    () -> client.lock("barred-" + number).acquire());
              } else {
                Lease lease = client.lock("own-" + number).acquire();
                assertEquals(ReleaseOutcome.RELEASED, lease.release());
              }
            });
      }
    }
  }
}
