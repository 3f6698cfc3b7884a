package dev.interlock.redis;

import static dev.interlock.redis.Backends.soon;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockUnavailableException;
import dev.interlock.redis.server.Failures;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockUri;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.PooledObjectFactory;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionFactory;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisException;

/** Threads that wait for a connection are woken when there is one, or when there will be none. */
class ExhaustedPoolTest {

  private static final LockKeys KEYS = LockKeys.of("interlock", "job");

  @AutoClose private static final RedisServer redis = Testbed.redis().start();

  @Test
  void aConnectionThatBreaksMakesRoomForAnother() throws Exception {
    try (PooledNodes nodes = PooledNodes.of(ownPool())) {
      Holder holder = new Holder(nodes);
      Waiter waiter = new Waiter(nodes);
      holder.breakConnection();
      assertTrue(waiter.reply());
    }
  }

  @Test
  void aConnectionThatComesBackIsTheNextOnes() throws Exception {
    try (PooledNodes nodes = PooledNodes.of(ownPool())) {
      Holder holder = new Holder(nodes);
      Waiter first = new Waiter(nodes);
      Waiter second = new Waiter(nodes);
      holder.giveBack();
      assertTrue(first.reply());
      assertTrue(second.reply());
    }
  }

  /**
   * On virtual threads, a running thread could take every connection again before a waiter does.
   */
  @Test
  void whoGivesAConnectionBackDoesNotOvertakeTheWaiter() throws Exception {
    try (LockPool pool = ownPool()) {
      for (int round = 0; round < 20; round++) {
        Queue<String> order = new ConcurrentLinkedQueue<>();
        Connection connection = pool.borrow(soon());
        Thread waiter =
            new Thread(
                () -> {
                  try {
                    Connection borrowed = pool.borrow(soon());
                    order.add("waiter");
                    pool.giveBack(borrowed);
                  } catch (Exception e) {
                    order.add(e.toString());
                  }
                });
        waiter.start();
        Eventually.holds("waiting", () -> pool.waiters() == 1);
        pool.giveBack(connection);
        connection = pool.borrow(soon());
        order.add("again");
        pool.giveBack(connection);
        waiter.join();
        assertEquals(List.of("waiter", "again"), List.copyOf(order), "round " + round);
      }
    }
  }

  @Test
  void anErrorThatNobodyExpectsCostsNoConnection() throws Exception {
    try (PooledNodes nodes = PooledNodes.of(ownPool())) {
      for (int i = 0; i < 3; i++) {
        assertThrows(
            OutOfMemoryError.class,
            () ->
                nodes.call(
                    KEYS,
                    soon(),
                    false,
                    wire -> {
                      throw new OutOfMemoryError("as a test wants it");
                    }));
      }
      assertTrue(nodes.call(KEYS, soon(), false, Wire::ping));
    }
  }

  @Test
  void aClientThatIsClosedLetsAllGoAndInterruptsNobody() throws Exception {
    PooledNodes nodes = PooledNodes.of(ownPool());
    Holder holder = new Holder(nodes);
    Waiter first = new Waiter(nodes);
    Waiter second = new Waiter(nodes);
    nodes.close();
    assertInstanceOf(LockUnavailableException.class, first.failure());
    assertInstanceOf(LockUnavailableException.class, second.failure());
    holder.giveBack();
  }

  /** The pool of the program interrupts the threads that wait for it. */
  @Test
  void aJedisThatIsClosedLetsAllGoAndInterruptsNobody() throws Exception {
    try (ConnectionPool pool = programsPool();
        PooledNodes nodes = PooledNodes.ofUser(() -> pool)) {
      Holder holder = new Holder(nodes);
      Waiter waiter = new Waiter(nodes);
      pool.close();
      LockConfigurationException e =
          assertInstanceOf(LockConfigurationException.class, waiter.failure());
      assertTrue(e.getMessage().contains("the Jedis client was closed"), e::getMessage);
      holder.giveBack();
    }
  }

  /** The pool is closed and replaced, as Jedis does when Sentinel has chosen another primary. */
  @Test
  void aPoolThatIsReplacedSendsAllToTheNext() throws Exception {
    try (ConnectionPool old = programsPool();
        ConnectionPool next = programsPool()) {
      AtomicReference<ConnectionPool> current = new AtomicReference<>(old);
      try (PooledNodes nodes = PooledNodes.ofUser(current::get)) {
        Holder holder = new Holder(nodes);
        Waiter waiter = new Waiter(nodes);
        current.set(next);
        old.close();
        assertTrue(waiter.reply());
        holder.giveBack();
      }
    }
  }

  /** The pool is closed, as Jedis does when a node is missing from the slots of another. */
  @Test
  void aPoolOfOneNodeThatIsClosedIsNotTakenForAClosedJedis() throws Exception {
    String server = redis.host();
    String slots =
        "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$%d\r\n%s\r\n:%d"
            .formatted(server.length(), server, redis.port());
    try (CannedServer witness = CannedServer.tellingSlots(slots);
        ConnectionPool asked =
            new ConnectionPool(
                new HostAndPort("127.0.0.1", witness.port()), Backends.jedisConfig(), config());
        ConnectionPool closed = programsPool()) {
      closed.close();
      Map<String, ConnectionPool> pools = new ConcurrentHashMap<>();
      pools.put("witness", asked);
      pools.put(server + ":" + redis.port(), closed);
      try (ClusterNodes nodes =
          new ClusterNodes(new JedisMembers(() -> pools, () -> {}), Backends.TIME)) {
        LockException e;
        do { // A JVM that stood still may not have asked in time.
          e = explained(failure(nodes));
          assertInstanceOf(LockUnavailableException.class, e);
        } while (!e.getMessage().contains("were closed"));
        pools.clear(); // as is done when the whole client is closed
        e = assertInstanceOf(LockConfigurationException.class, explained(failure(nodes)));
        assertTrue(e.getMessage().contains("the Jedis client was closed"), e::getMessage);
      }
    }
  }

  /**
   * The pool is closed and replaced, as Jedis does when a node has left the cluster and rejoined.
   */
  @Test
  void aListingFindsTheNewPoolOfANode() throws Exception {
    String server = redis.host();
    String slots =
        "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$%d\r\n%s\r\n:%d"
            .formatted(server.length(), server, redis.port());
    try (CannedServer witness = CannedServer.tellingSlots(slots);
        ConnectionPool asked =
            new ConnectionPool(
                new HostAndPort("127.0.0.1", witness.port()), Backends.jedisConfig(), config());
        ConnectionPool closed = programsPool();
        ConnectionPool next = programsPool()) {
      closed.close();
      Map<String, ConnectionPool> pools = new ConcurrentHashMap<>();
      pools.put("witness", asked);
      pools.put(server + ":" + redis.port(), closed);
      try (ClusterNodes nodes =
          new ClusterNodes(new JedisMembers(() -> pools, () -> {}), Backends.TIME)) {
        assertThrows(JedisException.class, () -> nodes.scan("none", null, 1, soon()));
        pools.put(server + ":" + redis.port(), next);
        Deadline end = Deadline.in(Backends.TIME, Duration.ofSeconds(10));
        Nodes.Keys found = null;
        while (found == null) {
          try {
            found = nodes.scan("none", null, 1, soon());
          } catch (JedisException e) {
            assertFalse(end.hasPassed(), e::getMessage);
          }
        }
        assertEquals(List.of(), found.keys());
      }
    }
  }

  private static JedisException failure(Nodes nodes) {
    return assertThrows(JedisException.class, () -> nodes.call(KEYS, soon(), true, Wire::ping));
  }

  @Test
  void closingKeepsAnInterrupt() {
    LockPool pool = ownPool();
    Thread.currentThread().interrupt();
    pool.close();
    assertTrue(Thread.interrupted());
  }

  /**
   * By a pool that reconnects on the thread that returns a connection, because there is no other.
   */
  @Test
  void aBrokenConnectionThatIsNotReplacedHidesNoOutcome() {
    AtomicBoolean down = new AtomicBoolean();
    PooledObjectFactory<Connection> failing =
        new ConnectionFactory(new HostAndPort(redis.host(), redis.port())) {
          @Override
          public PooledObject<Connection> makeObject() throws Exception {
            if (down.get()) {
              throw new JedisConnectionException("refused");
            }
            return super.makeObject();
          }
        };
    try (ConnectionPool pool = new ConnectionPool(failing, config())) {
      PooledNodes nodes = PooledNodes.ofUser(() -> pool);
      nodes.close();
      Nodes.Talk<Boolean> broken =
          wire -> {
            down.set(true);
            throw new UnsupportedOperationException("as a test wants it");
          };
      assertThrows(
          UnsupportedOperationException.class, () -> nodes.call(KEYS, soon(), true, broken));
    }
  }

  @Test
  void aPoolThatFailsInAnyOtherWayIsNotSaidToBeExhausted() throws Exception {
    // The second is what Jedis throws when it does not understand a server's HELLO.
    for (Exception failure :
        List.of(
            new Exception("as a test wants it"), new IllegalStateException("as a test wants it"))) {
      PooledObjectFactory<Connection> failing =
          new ConnectionFactory(new HostAndPort(redis.host(), redis.port())) {
            @Override
            public PooledObject<Connection> makeObject() throws Exception {
              throw failure;
            }
          };
      try (ConnectionPool pool = new ConnectionPool(failing, config());
          PooledNodes nodes = PooledNodes.ofUser(() -> pool)) {
        String message = explained(failure(nodes)).getMessage();
        assertTrue(message.contains("as a test wants it"), message);
      }
    }
  }

  private static LockPool ownPool() {
    RedisUri uri =
        new RedisUri(LockUri.parse(redis.uri() + "?maxConnections=1"), Duration.ofSeconds(60));
    return uri.pool(uri.server(), uri.servers.clientConfig(0));
  }

  private static ConnectionPool programsPool() {
    return new ConnectionPool(
        new HostAndPort(redis.host(), redis.port()), Backends.jedisConfig(), config());
  }

  private static GenericObjectPoolConfig<Connection> config() {
    GenericObjectPoolConfig<Connection> config = new GenericObjectPoolConfig<>();
    config.setMaxTotal(1);
    config.setJmxEnabled(false);
    return config;
  }

  private static LockException explained(RuntimeException e) {
    return new Failures("redis", "here", false).explain(e);
  }

  /** Has the only connection. */
  private static final class Holder {
    private final CountDownLatch end = new CountDownLatch(1);
    private final CompletableFuture<Boolean> talk;
    private volatile boolean breaks;

    Holder(Nodes nodes) throws InterruptedException {
      CountDownLatch holds = new CountDownLatch(1);
      talk =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return nodes.call(
                      KEYS,
                      Deadline.in(Backends.TIME, Duration.ofHours(1)),
                      false,
                      wire -> {
                        holds.countDown();
                        awaitEnd();
                        if (breaks) {
                          throw new JedisConnectionException("broken");
                        }
                        return true;
                      });
                } catch (InterruptedException e) {
                  throw new AssertionError(e);
                }
              },
              command -> new Thread(command).start());
      assertTrue(holds.await(60, TimeUnit.SECONDS));
    }

    private void awaitEnd() {
      try {
        end.await();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }

    void breakConnection() {
      breaks = true;
      end.countDown();
      assertThrows(ExecutionException.class, () -> talk.get(60, TimeUnit.SECONDS));
    }

    void giveBack() throws Exception {
      end.countDown();
      assertTrue(talk.get(60, TimeUnit.SECONDS));
    }
  }

  /** Waits without limit for the connection of another caller. */
  private static final class Waiter {
    private final CompletableFuture<Boolean> reply = new CompletableFuture<>();
    private final Thread thread;

    Waiter(Nodes nodes) throws Exception {
      thread =
          new Thread(
              () -> {
                try {
                  Deadline far = Deadline.in(Backends.TIME, Duration.ofHours(1));
                  reply.complete(nodes.call(KEYS, far, true, Wire::ping));
                } catch (Throwable e) {
                  reply.completeExceptionally(e);
                }
              });
      thread.start();
      Eventually.holds("waiting", () -> thread.getState() == Thread.State.TIMED_WAITING);
    }

    boolean reply() throws Exception {
      return reply.get(20, TimeUnit.SECONDS);
    }

    LockException failure() {
      ExecutionException e =
          assertThrows(ExecutionException.class, () -> reply.get(20, TimeUnit.SECONDS));
      return explained(assertInstanceOf(JedisException.class, e.getCause()));
    }
  }
}
