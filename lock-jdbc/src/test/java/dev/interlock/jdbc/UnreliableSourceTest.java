package dev.interlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.zaxxer.hikari.HikariDataSource;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;

/** Data sources that hang or fail in unusual ways. */
class UnreliableSourceTest {

  private static final AtomicInteger DATABASES = new AtomicInteger();

  private final DataSource source = ProgramSource.h2("unreliable" + DATABASES.incrementAndGet());

  private final AtomicLong ahead = new AtomicLong();

  /** A clock that the test advances. */
  private final TimeSource time =
      new TimeSource() {
        @Override
        public long nanoTime() {
          return System.nanoTime() + ahead.get();
        }

        @Override
        public long wallMillis() {
          return System.currentTimeMillis();
        }

        @Override
        public void parkUntil(Object blocker, long untilNanos) {
          LockSupport.parkNanos(blocker, untilNanos - nanoTime());
        }
      };

  private void pass(Duration duration) {
    ahead.addAndGet(duration.toNanos());
  }

  private LockBackend open(DataSource source) {
    return BackendOpener.ofProgram(
        source, JdbcSettings.defaults(), Backends.context(Backends.TIMEOUT, time));
  }

  private Attempt attempt(LockBackend backend, Duration timeout) throws InterruptedException {
    return backend.tryAcquire(Backends.claim("job"), Deadline.in(time, timeout));
  }

  private void assertFails(LockBackend backend) {
    assertThrows(LockUnavailableException.class, () -> attempt(backend, Duration.ofMillis(10)));
  }

  private void assertWorks(LockBackend backend) throws InterruptedException {
    assertInstanceOf(Attempt.Granted.class, attempt(backend, Backends.TIMEOUT));
  }

  /** A firewall swallows the packets of new connections, and the driver has no time-out. */
  private final class HangingSource implements ProgramSource {
    final AtomicBoolean hangs = new AtomicBoolean();
    final AtomicInteger hanging = new AtomicInteger();
    final CountDownLatch end = new CountDownLatch(1);

    @Override
    public Connection getConnection() throws SQLException {
      if (hangs.get()) {
        hanging.incrementAndGet();
        try {
          end.await();
        } catch (InterruptedException e) {
          throw new SQLException(e);
        } finally {
          hanging.decrementAndGet();
        }
      }
      return source.getConnection();
    }
  }

  @Test
  void hungCallsDoNotUseUpTheThreads() throws Exception {
    HangingSource hanging = new HangingSource();
    try (LockBackend backend = open(hanging)) {
      hanging.hangs.set(true);
      for (int i = 0; i < 20; i++) {
        assertFails(backend);
      }
      pass(Duration.ofSeconds(11));
      hanging.hangs.set(false);
      assertWorks(backend);
    } finally {
      hanging.end.countDown();
    }
  }

  @Test
  void theNumberOfHungCallsIsLimited() throws Exception {
    HangingSource hanging = new HangingSource();
    try (LockBackend backend = open(hanging)) {
      hanging.hangs.set(true);
      for (int i = 0; i < 6 * 16; i++) {
        assertFails(backend);
        if (i % 16 == 15) {
          pass(Duration.ofSeconds(11));
        }
      }
      int bound = hanging.hanging.get();
      assertTrue(bound <= 64, () -> bound + " threads hang");
      hanging.hangs.set(false);
      pass(Duration.ofMinutes(1));
      assertWorks(backend);
    } finally {
      hanging.end.countDown();
    }
  }

  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
  private static <E extends Throwable> RuntimeException thrownUnchecked(Throwable e) throws E {
    throw (E) e;
  }

  @Test
  void theStatementsOfARequestShareItsDeadline() throws Exception {
    List<Integer> limits = Collections.synchronizedList(new ArrayList<>());
    ProgramSource slow =
        () -> {
          Connection connection = source.getConnection();
          return ProgramSource.proxy(
              Connection.class,
              (method, arguments) -> {
                if (method.getName().equals("setNetworkTimeout")) {
                  limits.add((Integer) arguments[1]);
                } else if (method.getName().equals("prepareStatement")) {
                  pass(Duration.ofSeconds(1));
                }
                return method.invoke(connection, arguments);
              });
        };
    try (LockBackend backend = open(slow)) {
      Backends.take(backend, Backends.claim("held"));
      limits.clear();
      assertInstanceOf(
          Attempt.Granted.class,
          backend.tryAcquire(
              Backends.claim("shared", Share.READ), Deadline.in(time, Backends.TIMEOUT)));
      assertEquals(2, limits.size(), limits::toString);
      assertTrue(limits.get(1) <= limits.get(0) - 1_000, limits::toString);
    }
  }

  @Test
  void anUndeclaredExceptionOfTheDataSourceEndsNoThread() throws Exception {
    AtomicBoolean fails = new AtomicBoolean();
    ProgramSource odd =
        () -> {
          if (fails.get()) {
            throw UnreliableSourceTest.<RuntimeException>thrownUnchecked(
                new IOException("no token"));
          }
          return source.getConnection();
        };
    try (LockBackend backend = open(odd)) {
      fails.set(true);
      for (int i = 0; i < 20; i++) {
        LockUnavailableException failure =
            assertThrows(LockUnavailableException.class, () -> attempt(backend, Backends.TIMEOUT));
        assertTrue(String.valueOf(failure.getMessage()).contains("no token"), failure::toString);
        assertFalse(failure.isInDoubt());
      }
      fails.set(false);
      assertWorks(backend);
    }
  }

  @Test
  void aConnectionWhoseSettingsFailIsReturned() throws Exception {
    try (HikariDataSource pool = new HikariDataSource()) {
      pool.setDataSource(source);
      AtomicBoolean fails = new AtomicBoolean();
      ProgramSource odd =
          () -> {
            Connection connection = pool.getConnection();
            return ProgramSource.proxy(
                Connection.class,
                (method, arguments) -> {
                  if (fails.get() && method.getName().equals("getAutoCommit")) {
                    throw new IllegalStateException("not in a good state");
                  }
                  return method.invoke(connection, arguments);
                });
          };
      try (LockBackend backend = open(odd)) {
        Claim claim = Backends.claim("held");
        Backends.take(backend, claim); // keeps a connection, whose settings fail first
        fails.set(true);
        for (int i = 0; i < 3; i++) {
          assertThrows(Exception.class, () -> attempt(backend, Backends.TIMEOUT));
        }
        // Each connection is returned after its failure was reported.
        await(() -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
        fails.set(false);
        assertWorks(backend);
      }
    }
  }

  private static void await(Callable<Boolean> condition) throws Exception {
    long end = System.nanoTime() + Backends.TIMEOUT.toNanos();
    while (!condition.call()) {
      assertTrue(System.nanoTime() - end < 0, "in vain");
      Thread.sleep(5);
    }
  }

  /** The program has used up its pool, except for the kept connection. */
  @Test
  void renewalsPrecedeAcquisitions() throws Exception {
    HangingSource pool = new HangingSource();
    ExecutorService threads = Executors.newCachedThreadPool();
    try (Connections connections = Connections.ofProgram(pool, time)) {
      connections.protect(Backends.claim("held"));
      Borrowed kept = connections.borrow(Deadline.in(time, Backends.TIMEOUT), false);
      pool.hangs.set(true);
      List<String> order = Collections.synchronizedList(new ArrayList<>());
      List<Future<?>> requests = new ArrayList<>();
      for (String request : List.of("acquire", "acquire", "renew")) {
        requests.add(
            threads.submit(
                () -> {
                  Borrowed borrowed =
                      connections.borrow(
                          Deadline.in(time, Backends.TIMEOUT), request.equals("renew"));
                  order.add(request);
                  connections.giveBack(borrowed, true);
                  return null;
                }));
        await(() -> pool.hanging.get() == requests.size());
      }
      connections.giveBack(kept, true);
      for (Future<?> request : requests) {
        request.get(Backends.TIMEOUT.toSeconds(), TimeUnit.SECONDS);
      }
      assertEquals(List.of("renew", "acquire", "acquire"), order);
    } finally {
      pool.end.countDown();
      threads.shutdownNow();
    }
  }

  @Test
  void anIdleKeptConnectionIsTestedPeriodically() throws Exception {
    List<Connection> opened = Collections.synchronizedList(new ArrayList<>());
    ProgramSource behindFirewall =
        () -> {
          Connection connection = source.getConnection();
          opened.add(connection);
          return ProgramSource.proxy(
              Connection.class,
              (method, arguments) ->
                  method.getName().equals("isValid")
                      ? (Object) false
                      : method.invoke(connection, arguments));
        };
    try (LockBackend backend = open(behindFirewall)) {
      Claim claim = Backends.claim("held");
      Backends.take(backend, claim);
      Connection kept = opened.get(opened.size() - 1);
      assertFalse(kept.isClosed());
      pass(Duration.ofSeconds(31));
      await(kept::isClosed);
      assertTrue(backend.release(claim, Deadline.in(time, Backends.TIMEOUT)));
    }
  }
}
