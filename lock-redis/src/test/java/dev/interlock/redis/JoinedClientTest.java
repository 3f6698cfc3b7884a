package dev.interlock.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.server.TlsIdentity;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Whole clients that join as many requests as possible, on a real Redis. */
class JoinedClientTest {
  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final int THREADS = 24;

  /** A server, or this JVM, that stands still for a while costs no lease. */
  private static final LockOptions OPTIONS =
      LockOptions.builder().requestTimeout(Duration.ofSeconds(20)).build();

  @TempDir static Path directory;

  private final ExecutorService threads = Executors.newFixedThreadPool(THREADS);

  @AfterEach
  void stopThreads() {
    threads.shutdownNow();
  }

  /** Opens a client that joins requests from the first thread on. */
  private static LockClient open(String uri) {
    return Backends.client(uri, OPTIONS, 0);
  }

  /** The critical section. */
  private static final class Shared {
    final AtomicInteger inside = new AtomicInteger();
    final AtomicLong lastToken = new AtomicLong();
    int count;

    void change(Lease lease) {
      assertEquals(1, inside.incrementAndGet(), "two were inside");
      assertTrue(lastToken.getAndSet(lease.fencingToken()) < lease.fencingToken(), "tokens fell");
      count++;
      inside.decrementAndGet();
    }
  }

  @Test
  void exclusionHoldsWhileConnectionsAreResetAndNothingIsLeftBehind() throws Exception {
    int rounds = 150;
    List<Shared> names = List.of(new Shared(), new Shared(), new Shared(), new Shared());
    try (RedisServer redis = Testbed.redis().start();
        FaultProxy proxy = FaultProxy.to(redis.host(), redis.port());
        LockClient first = open("redis://127.0.0.1:" + proxy.port());
        LockClient second = open("redis://127.0.0.1:" + proxy.port())) {
      CountDownLatch working = new CountDownLatch(THREADS);
      AtomicInteger granted = new AtomicInteger();
      List<Future<?>> all = new ArrayList<>();
      for (int t = 0; t < THREADS; t++) {
        int number = t;
        LockClient client = t % 2 == 0 ? first : second;
        all.add(
            threads.submit(
                () -> {
                  try {
                    for (int i = 0; i < rounds; i++) {
                      int name = (number + i) % names.size();
                      Optional<Lease> lease =
                          client.lock("job " + name).tryAcquire(Duration.ofMinutes(2));
                      try (Lease held = lease.orElseThrow()) {
                        granted.incrementAndGet();
                        names.get(name).change(held);
                      }
                    }
                  } finally {
                    working.countDown();
                  }
                  return null;
                }));
      }
      int hit = 0;
      int before = 0;
      while (!working.await(30, TimeUnit.MILLISECONDS)) {
        if (granted.get() > before) { // a busy machine must get somewhere between two resets
          before = granted.get();
          hit += proxy.reset();
        }
      }
      for (Future<?> one : all) {
        one.get();
      }
      assertTrue(hit > 0, "no connection was reset");
      int total = names.stream().mapToInt(shared -> shared.count).sum();
      assertEquals(THREADS * rounds, total);
      Eventually.holds("all locks are free", () -> locks(redis).isEmpty());
    }
  }

  @Test
  void closingEndsAllThatAreUnderWayAndLeavesNothing() throws Exception {
    try (RedisServer redis = Testbed.redis().start()) {
      for (int round = 0; round < 10; round++) {
        LockClient client = open(redis.uri());
        CountDownLatch working = new CountDownLatch(4 * THREADS);
        List<Future<?>> all = new ArrayList<>();
        for (int t = 0; t < THREADS; t++) {
          String name = "job " + t;
          all.add(
              threads.submit(
                  () -> {
                    while (true) {
                      client.lock(name).acquire().close();
                      working.countDown();
                    }
                  }));
        }
        assertTrue(working.await(1, TimeUnit.MINUTES));
        client.close();
        for (Future<?> one : all) {
          ExecutionException end =
              assertThrows(ExecutionException.class, () -> one.get(1, TimeUnit.MINUTES));
          assertTrue(end.getCause() instanceof IllegalStateException, end::toString);
        }
        assertEquals(List.of(), locks(redis), "left behind");
      }
    }
  }

  @Test
  void manyThreadsShareConnectionsWithTls() throws Exception {
    TlsIdentity signed = TlsIdentity.forSubject(directory, "ip:127.0.0.1");
    int port = Testbed.freePort();
    try (RedisServer redis =
            Testbed.redis()
                .config(
                    "tls-port " + port,
                    "tls-cert-file " + signed.certificate(),
                    "tls-key-file " + signed.key(),
                    "tls-ca-cert-file " + signed.certificate(),
                    "tls-auth-clients no")
                .start();
        LockClient client =
            open("rediss://127.0.0.1:" + port + "?caCert=" + signed.certificate())) {
      List<Future<Long>> all = new ArrayList<>();
      for (int t = 0; t < THREADS; t++) {
        String name = "job " + t;
        all.add(
            threads.submit(
                () -> {
                  long last = 0;
                  for (int i = 0; i < 50; i++) {
                    try (Lease lease = client.lock(name).acquire()) {
                      assertTrue(lease.fencingToken() > last);
                      last = lease.fencingToken();
                    }
                  }
                  return last;
                }));
      }
      for (Future<Long> one : all) {
        assertTrue(one.get(1, TimeUnit.MINUTES) > 0);
      }
      assertEquals(List.of(), locks(redis));
    }
  }

  private static List<String> locks(RedisServer redis) throws IOException {
    List<String> locks = new ArrayList<>();
    for (Object key : (List<?>) redis.call("KEYS", "interlock:*")) {
      if (!key.toString().endsWith(":fence")) {
        locks.add(key.toString());
      }
    }
    return locks;
  }
}
