package dev.interlock.peers;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.tck.Server;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.run.Proxies;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Lock;
import javax.sql.DataSource;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.support.locks.LockRegistry;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/**
 * What the page calls broken, by the library's own API and nothing else. Each method is a program
 * that prints what it sees; the page shows the lines.
 */
@SuppressWarnings("LockNotBeforeTry") // each line is one step of what is shown
final class Reproductions {
  private static final int WATCHDOG_SECONDS = 3;

  private Reproductions() {}

  /** A program of which the page shows what it prints. */
  interface Program {
    void run(PrintWriter out) throws Exception;
  }

  /** Two programs, each with its clients of the same three servers. */
  private static final class RedissonPrograms implements AutoCloseable {
    final List<RedisServer> servers = new ArrayList<>();
    final List<RedissonClient> one = new ArrayList<>();
    final List<RedissonClient> other = new ArrayList<>();

    RedissonPrograms() {
      for (int i = 0; i < 3; i++) {
        RedisServer server = Testbed.redis().forFaults().start();
        servers.add(server);
        one.add(redisson(address(server)));
        other.add(redisson(address(server)));
      }
    }

    RLock ofOne(String kind) {
      return lock(kind, one);
    }

    RLock ofOther(String kind) {
      return lock(kind, other);
    }

    static RLock lock(String kind, List<RedissonClient> clients) {
      return switch (kind) {
        case "RLock" -> clients.get(0).getLock("job");
        case "RFencedLock" -> clients.get(0).getFencedLock("fenced job");
        default -> Clients.redLock(clients, "red job");
      };
    }

    @Override
    public void close() {
      one.forEach(RedissonClient::shutdown);
      other.forEach(RedissonClient::shutdown);
      servers.forEach(RedisServer::close);
    }
  }

  private static final List<String> REDISSON = List.of("RLock", "RFencedLock", "RedissonRedLock");

  private static RedissonClient redisson(String address) {
    Config config = new Config();
    config.setLockWatchdogTimeout(WATCHDOG_SECONDS * 1_000);
    return Clients.redisson(address, config);
  }

  private static String address(RedisServer server) {
    return server.host() + ":" + server.port();
  }

  private static String secondsSince(long start) {
    return (System.nanoTime() - start) / 1_000_000_000 + " s";
  }

  /** Starts a thread, and waits until it has ended. */
  private static void inThread(Runnable work) throws InterruptedException {
    started(work).join();
  }

  /** {@return a thread that has been started, and may be left behind} */
  private static Thread started(Runnable work) {
    Thread thread = new Thread(work);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  /** A thread that is interrupted before it asks for the lock holds it for ever. */
  static void redissonInterruptBeforeTheCall(PrintWriter out) throws Exception {
    try (RedissonPrograms programs = new RedissonPrograms()) {
      for (String kind : REDISSON) {
        RLock lock = programs.ofOne(kind);
        AtomicReference<Exception> thrown = new AtomicReference<>();
        // The call returns, with the lock, if the server's answer is there before it looks for it.
        int tries = kind.equals("RedissonRedLock") ? 1 : 20;
        for (int i = 0; i < tries && thrown.get() == null; i++) {
          inThread(
              () -> {
                Thread.currentThread().interrupt();
                try {
                  lock.lockInterruptibly();
                  boolean unused = Thread.interrupted();
                  lock.unlock();
                } catch (Exception e) {
                  thrown.set(e);
                }
              });
        }
        if (thrown.get() == null) {
          out.println(kind + ": lockInterruptibly of an interrupted thread returned");
          continue;
        }
        out.println(kind + ": lockInterruptibly of an interrupted thread threw " + thrown.get());
        TimeUnit.SECONDS.sleep(4 * WATCHDOG_SECONDS);
        boolean free = programs.ofOther(kind).tryLock(WATCHDOG_SECONDS, TimeUnit.SECONDS);
        out.println(
            "  the thread has ended; after five times the watchdog's time-out another client"
                + (free ? " acquires the lock" : " cannot acquire the lock"));
      }
    }
  }

  /** What an interrupt does to threads that wait. */
  static void redissonInterruptWhileWaiting(PrintWriter out) throws Exception {
    try (RedissonPrograms programs = new RedissonPrograms()) {
      for (String kind : REDISSON) {
        RLock held = programs.ofOne(kind);
        RLock waiting = programs.ofOther(kind);
        held.lock();
        Thread interruptible =
            started(
                () -> {
                  try {
                    waiting.lockInterruptibly();
                    out.println(kind + ": lockInterruptibly returned");
                  } catch (Exception e) {
                    out.println(kind + ": lockInterruptibly threw " + e);
                  }
                });
        TimeUnit.SECONDS.sleep(2);
        interruptible.interrupt();
        interruptible.join(5_000);
        if (interruptible.isAlive()) {
          out.println(kind + ": lockInterruptibly still waits 5 s after the interrupt");
        } else {
          Thread patient =
              started(
                  () -> {
                    waiting.lock();
                    out.println(
                        kind
                            + ": lock() that was interrupted has returned; interrupt status: "
                            + Thread.currentThread().isInterrupted());
                    waiting.unlock();
                  });
          TimeUnit.SECONDS.sleep(2);
          patient.interrupt();
          TimeUnit.SECONDS.sleep(1);
          held.unlock();
          patient.join(20_000);
        }
      }
    }
  }

  /** A waiter sleeps until the TTL of a lock that was released long ago. */
  static void redissonLostNotification(PrintWriter out) throws Exception {
    try (RedissonPrograms programs = new RedissonPrograms()) {
      for (String kind : List.of("RLock", "RFencedLock")) {
        RLock held = programs.ofOne(kind);
        held.lock(20, TimeUnit.SECONDS);
        Thread waiter = started(() -> programs.ofOther(kind).lock());
        TimeUnit.SECONDS.sleep(2);
        var killed = programs.servers.get(0).call("CLIENT", "KILL", "TYPE", "pubsub");
        out.println(kind + ": CLIENT KILL TYPE pubsub has closed " + killed + " connection");
        held.unlock();
        long released = System.nanoTime();
        out.println("  released; isLocked: " + held.isLocked());
        waiter.join(60_000);
        out.println("  the waiter acquired the free lock " + secondsSince(released) + " later");
      }
    }
  }

  /** A lock that has expired before the answer arrives is reported as acquired. */
  static void redissonLateGrant(PrintWriter out) throws Exception {
    try (RedissonPrograms programs = new RedissonPrograms()) {
      List<Network> networks = new ArrayList<>();
      List<RedissonClient> slow = new ArrayList<>();
      for (RedisServer server : programs.servers) {
        Network network = Proxies.network(server.uri(), 6379).orElseThrow();
        networks.add(network);
        slow.add(redisson(network.uri().replaceFirst("^redis://", "")));
      }
      for (RedissonClient client : slow) {
        client.getLock("warm-up").lock(60, TimeUnit.SECONDS);
      }
      networks.forEach(network -> network.delay(Direction.SERVER_TO_CLIENT, Duration.ofSeconds(1)));
      for (String kind : REDISSON) {
        RLock lock = RedissonPrograms.lock(kind, slow);
        boolean acquired = lock.tryLock(8_000, 500, TimeUnit.MILLISECONDS);
        out.println(kind + ": tryLock with a lease time of 500 ms, answers take 1 s: " + acquired);
        out.println(
            "  tryLock of another client at that moment: " + programs.ofOther(kind).tryLock());
      }
      networks.forEach(Network::heal);
      slow.forEach(RedissonClient::shutdown);
      networks.forEach(Network::close);
    }
  }

  /** The watchdog renews the lock of a thread that has ended. */
  static void redissonThreadThatHasEnded(PrintWriter out) throws Exception {
    try (RedissonPrograms programs = new RedissonPrograms()) {
      for (String kind : REDISSON) {
        inThread(() -> programs.ofOne(kind).lock());
        boolean free = programs.ofOther(kind).tryLock(4 * WATCHDOG_SECONDS, TimeUnit.SECONDS);
        out.println(
            kind
                + ": the thread that locked has ended; another client waits for four times the"
                + " watchdog's time-out: "
                + free);
      }
    }
  }

  /** A thread that waits does not notice that its client is shut down. */
  static void redissonShutdownWhileWaiting(PrintWriter out) throws Exception {
    for (String kind : REDISSON) {
      try (RedissonPrograms programs = new RedissonPrograms()) {
        programs.ofOne(kind).lock(40, TimeUnit.SECONDS);
        Thread waiter =
            started(
                () -> {
                  try {
                    programs.ofOther(kind).lockInterruptibly();
                  } catch (InterruptedException | RuntimeException e) {
                    out.println("  lockInterruptibly threw " + e.getClass().getName());
                  }
                });
        TimeUnit.SECONDS.sleep(2);
        programs.other.forEach(RedissonClient::shutdown);
        long shutdown = System.nanoTime();
        out.println(kind + ": the client of a thread that waits in lockInterruptibly is shut down");
        waiter.join(60_000);
        out.println(
            "  "
                + secondsSince(shutdown)
                + " later the thread "
                + (waiter.isAlive() ? "still waits" : "has ended"));
      }
    }
  }

  /** An unlock by a thread that does not hold the lock is not refused. */
  static void redissonRedLockUnlockByAnother(PrintWriter out) throws Exception {
    try (RedissonPrograms programs = new RedissonPrograms()) {
      RLock lock = programs.ofOne("RedissonRedLock");
      try {
        lock.unlock();
        out.println("unlock of a lock that nobody holds returned");
      } catch (Exception e) {
        out.println("unlock of a lock that nobody holds threw " + e);
      }
      lock.lock();
      inThread(
          () -> {
            try {
              lock.unlock();
              out.println("unlock by a thread that does not hold the lock returned");
            } catch (Exception e) {
              out.println("unlock by a thread that does not hold the lock threw " + e);
            }
          });
      out.println("tryLock of another client: " + programs.ofOther("RedissonRedLock").tryLock());
    }
  }

  /** An attempt without any server looks like one on a held lock. */
  static void redissonRedLockWithoutServers(PrintWriter out) throws Exception {
    try (RedissonPrograms programs = new RedissonPrograms()) {
      RLock lock = programs.ofOne("RedissonRedLock");
      out.println("tryLock of a free lock: " + lock.tryLock());
      lock.unlock();
      programs.servers.forEach(RedisServer::kill);
      out.println("all three servers are dead");
      try {
        out.println("tryLock: " + lock.tryLock());
      } catch (Exception e) {
        out.println("tryLock threw " + e.getClass().getName());
      }
    }
  }

  /** The keys of tokens have no expiry. */
  static void redissonFencedTokens(PrintWriter out) throws Exception {
    try (RedisServer server = Testbed.redis().start()) {
      RedissonClient one = redisson(address(server));
      for (int i = 0; i < 3; i++) {
        one.getFencedLock("order " + i).lock();
        one.getFencedLock("order " + i).unlock();
      }
      out.println("three locks were acquired and released; keys and their times to live:");
      new TreeMap<>(server.keys()).forEach((key, left) -> out.println("  " + key + ": " + left));
      one.shutdown();
    }
  }

  /** An attempt that should not wait waits for the holder. */
  static void redissonFencedAttempt(PrintWriter out) throws Exception {
    try (RedisServer server = Testbed.redis().start()) {
      RedissonClient one = redisson(address(server));
      RedissonClient other = redisson(address(server));
      one.getFencedLock("job").lock();
      out.println("held by another client, and renewed");
      attempt(out, "tryLock()", () -> other.getFencedLock("job").tryLock());
      attempt(out, "tryLockAndGetToken()", () -> other.getFencedLock("job").tryLockAndGetToken());
      attempt(
          out,
          "tryLockAndGetToken(0 s)",
          () -> other.getFencedLock("job").tryLockAndGetToken(0, TimeUnit.SECONDS));
      attempt(
          out,
          "tryLockAndGetToken(1 s)",
          () -> other.getFencedLock("job").tryLockAndGetToken(1, TimeUnit.SECONDS));
      one.shutdown();
      other.shutdown();
    }
  }

  private static void attempt(PrintWriter out, String what, Callable<?> call) throws Exception {
    FutureTask<?> task = new FutureTask<>(call);
    started(task);
    try {
      out.println(what + " returned " + task.get(10, TimeUnit.SECONDS));
    } catch (TimeoutException e) {
      out.println(what + " has not returned after 10 s");
    } catch (ExecutionException e) {
      out.println(what + " threw " + e.getCause());
    }
  }

  /** A timed acquisition takes many times its time when the server does not answer. */
  static void curatorTimedAcquireOnASilentServer(PrintWriter out) throws Exception {
    try (ZooKeeperEnsemble servers = Testbed.zookeeper().forFaults().start();
        CuratorFramework curator =
            Clients.curator(List.of(servers.connectString()), Duration.ofSeconds(10))) {
      InterProcessMutex mutex = new InterProcessMutex(curator, "/job");
      mutex.acquire();
      mutex.release();
      servers.members().get(0).pause();
      long start = System.nanoTime();
      try {
        out.println("acquire(1 s) returned " + mutex.acquire(1, TimeUnit.SECONDS));
      } catch (Exception e) {
        out.println("acquire(1 s) threw " + e.getClass().getName());
      }
      out.println("after " + secondsSince(start));
      servers.members().get(0).resume();
    }
  }

  private static LettuceConnectionFactory connections(String address) {
    return Clients.lettuce(address, Duration.ofSeconds(60)); // Lettuce's own time-out
  }

  private static RedisLockRegistry renewed(LettuceConnectionFactory connections, long ttlMillis) {
    RedisLockRegistry registry = new RedisLockRegistry(connections, "registry", ttlMillis);
    registry.setRenewalTaskScheduler(Clients.scheduler());
    return registry;
  }

  /** A timed attempt that is interrupted does not throw InterruptedException. */
  static void springInterruptWhileWaiting(PrintWriter out) throws Exception {
    try (RedisServer server = Testbed.redis().start()) {
      LettuceConnectionFactory connections = connections(address(server));
      interruptWhileWaiting(
          out,
          "RedisLockRegistry",
          new RedisLockRegistry(connections, "registry").obtain("job"),
          new RedisLockRegistry(connections, "registry").obtain("job"));
      connections.destroy();
    }
    try (Server server = new Peers.SpringJdbcHarness().start()) {
      Duration ttl = Duration.ofSeconds(60);
      interruptWhileWaiting(
          out,
          "JdbcLockRegistry",
          jdbcRegistry(server.uri(), ttl).obtain("job"),
          jdbcRegistry(server.uri(), ttl).obtain("job"));
    }
  }

  private static DataSource database(String uri) {
    return new DriverManagerDataSource(Clients.postgresUrl(uri));
  }

  private static JdbcLockRegistry jdbcRegistry(String uri, Duration ttl) {
    return new JdbcLockRegistry(Clients.repository(database(uri)), ttl);
  }

  private static void interruptWhileWaiting(PrintWriter out, String kind, Lock held, Lock waiting)
      throws InterruptedException {
    held.lock();
    Thread timed =
        started(
            () -> {
              try {
                boolean acquired = waiting.tryLock(60, TimeUnit.SECONDS);
                out.println(kind + ": tryLock(60 s) returned " + acquired);
              } catch (Exception e) {
                out.println(kind + ": tryLock(60 s) threw " + e.getClass().getName());
                out.println("  because of " + e.getCause());
                out.println("  interrupt status: " + Thread.currentThread().isInterrupted());
              }
            });
    // Between two attempts: what an interrupt does to a request depends on the driver.
    do {
      TimeUnit.MILLISECONDS.sleep(1);
    } while (!isAsleep(timed));
    timed.interrupt();
    timed.join();
    held.unlock();
  }

  private static boolean isAsleep(Thread thread) {
    return Arrays.stream(thread.getStackTrace())
        .anyMatch(
            frame ->
                frame.getClassName().equals(Thread.class.getName())
                    && frame.getMethodName().startsWith("sleep"));
  }

  /** A lock that has expired before the answer arrives is reported as acquired. */
  static void springLateGrant(PrintWriter out) throws Exception {
    try (RedisServer server = Testbed.redis().start();
        Network network = Proxies.network(server.uri(), 6379).orElseThrow()) {
      LettuceConnectionFactory direct = connections(address(server));
      LettuceConnectionFactory slow = connections(network.uri().replaceFirst("^redis://", ""));
      RedisLockRegistry registry = new RedisLockRegistry(slow, "registry", 500);
      Lock warm = registry.obtain("warm-up");
      warm.lock();
      warm.unlock();
      lateGrant(
          out,
          "RedisLockRegistry",
          network,
          registry.obtain("job"),
          new RedisLockRegistry(direct, "registry").obtain("job"));
      slow.destroy();
      direct.destroy();
    }
    try (Server server = new Peers.SpringJdbcHarness().start();
        Network network = Proxies.network(server.uri(), 5432).orElseThrow()) {
      JdbcLockRegistry registry = jdbcRegistry(network.uri(), Duration.ofMillis(500));
      Lock warm = registry.obtain("warm-up");
      warm.lock();
      warm.unlock();
      lateGrant(
          out,
          "JdbcLockRegistry",
          network,
          registry.obtain("job"),
          jdbcRegistry(server.uri(), Duration.ofSeconds(60)).obtain("job"));
    }
  }

  private static void lateGrant(
      PrintWriter out, String kind, Network network, Lock slow, Lock other)
      throws InterruptedException {
    try (Disturbance delay = network.delay(Direction.SERVER_TO_CLIENT, Duration.ofSeconds(1))) {
      out.println(
          kind
              + ": tryLock(30 s) with a TTL of 500 ms, answers take 1 s: "
              + slow.tryLock(30, TimeUnit.SECONDS));
      out.println("  tryLock of another registry at that moment: " + other.tryLock());
    }
  }

  /** A lock of a thread that has ended is renewed. */
  static void springRedisThreadThatHasEnded(PrintWriter out) throws Exception {
    try (RedisServer server = Testbed.redis().start()) {
      LettuceConnectionFactory connections = connections(address(server));
      RedisLockRegistry one = renewed(connections, 3_000);
      inThread(() -> one.obtain("job").lock());
      out.println("the thread that locked has ended; the TTL is 3 s, with a renewalTaskScheduler");
      out.println(
          "tryLock(12 s) of another registry: "
              + renewed(connections, 3_000).obtain("job").tryLock(12, TimeUnit.SECONDS));
      connections.destroy();
    }
  }

  /** A lock that has expired, and was not unlocked, stays locked in its own JVM. */
  static void springExpiredInItsOwnJvm(PrintWriter out) throws Exception {
    try (RedisServer server = Testbed.redis().start()) {
      LettuceConnectionFactory connections = connections(address(server));
      expiredInItsOwnJvm(
          out,
          "RedisLockRegistry",
          new RedisLockRegistry(connections, "registry", 2_000),
          new RedisLockRegistry(connections, "registry", 2_000));
      connections.destroy();
    }
    try (Server server = new Peers.SpringJdbcHarness().start()) {
      expiredInItsOwnJvm(
          out,
          "JdbcLockRegistry",
          jdbcRegistry(server.uri(), Duration.ofSeconds(2)),
          jdbcRegistry(server.uri(), Duration.ofSeconds(2)));
    }
  }

  private static void expiredInItsOwnJvm(
      PrintWriter out,
      String kind,
      LockRegistry<? extends Lock> one,
      LockRegistry<? extends Lock> other)
      throws InterruptedException {
    inThread(() -> one.obtain("job").lock());
    TimeUnit.SECONDS.sleep(5);
    out.println(kind + ": the thread that locked has ended, 5 s have passed; the TTL is 2 s");
    out.println(
        "  tryLock(10 s) of the same registry: " + one.obtain("job").tryLock(10, TimeUnit.SECONDS));
    out.println(
        "  tryLock(10 s) of another registry: "
            + other.obtain("job").tryLock(10, TimeUnit.SECONDS));
  }

  /** A lock that has expired comes back if nobody else has taken it since. */
  static void springJdbcRenewalOfAnExpiredLock(PrintWriter out) throws Exception {
    try (Server server = new Peers.SpringJdbcHarness().start()) {
      JdbcLockRegistry one = jdbcRegistry(server.uri(), Duration.ofSeconds(2));
      one.obtain("job").lock();
      TimeUnit.SECONDS.sleep(5);
      try {
        one.renewLock("job", Duration.ofSeconds(60));
        out.println("renewLock(60 s) returned, 3 s after the end of the TTL");
      } catch (Exception e) {
        out.println("renewLock(60 s) threw " + e.getClass().getName());
      }
      out.println(
          "tryLock of another registry: "
              + jdbcRegistry(server.uri(), Duration.ofSeconds(2)).obtain("job").tryLock());
    }
  }

  private static Optional<SimpleLock> shedLock(
      LockProvider provider, String name, Duration lockAtMostFor) {
    return provider.lock(
        new LockConfiguration(ClockProvider.now(), name, lockAtMostFor, Duration.ZERO));
  }

  private static LockProvider shedLocks(String uri) {
    return Clients.shedLock(database(uri));
  }

  /** A lock that has ended takes its successor's lock away. */
  static void shedlockUnlockOfASuccessor(PrintWriter out) throws Exception {
    try (Server server = new Peers.ShedLockJdbcHarness().start()) {
      for (boolean extend : new boolean[] {false, true}) {
        String name = extend ? "other job" : "job";
        LockProvider one = shedLocks(server.uri());
        LockProvider other = shedLocks(server.uri());
        SimpleLock first = shedLock(one, name, Duration.ofSeconds(1)).orElseThrow();
        TimeUnit.SECONDS.sleep(3);
        out.println(
            "lock() of a second provider, 2 s after the first lock has ended: "
                + shedLock(other, name, Duration.ofSeconds(60)).isPresent());
        if (extend) {
          out.println(
              "extend() of the first lock, while the second is held: "
                  + first.extend(Duration.ofSeconds(60), Duration.ZERO).isPresent());
        } else {
          first.unlock();
          out.println("unlock() of the first lock, while the second is held, returned");
          out.println(
              "lock() of a third provider: "
                  + shedLock(shedLocks(server.uri()), name, Duration.ofSeconds(60)).isPresent());
        }
      }
    }
  }

  /** A lock that has ended before the answer arrives is reported as acquired. */
  static void shedlockLateGrant(PrintWriter out) throws Exception {
    try (Server server = new Peers.ShedLockJdbcHarness().start();
        Network network = Proxies.network(server.uri(), 5432).orElseThrow()) {
      LockProvider slow = shedLocks(network.uri());
      shedLock(slow, "warm-up", Duration.ofSeconds(60)).orElseThrow().unlock();
      try (Disturbance delay = network.delay(Direction.SERVER_TO_CLIENT, Duration.ofSeconds(1))) {
        out.println(
            "lock() with lockAtMostFor of 500 ms, answers take 1 s: "
                + shedLock(slow, "job", Duration.ofMillis(500)).isPresent());
        out.println(
            "lock() of another provider at that moment: "
                + shedLock(shedLocks(server.uri()), "job", Duration.ofSeconds(60)).isPresent());
      }
    }
  }

  /** The names that were locked and unlocked keep their rows. */
  static void shedlockRows(PrintWriter out) throws Exception {
    try (Server server = new Peers.ShedLockJdbcHarness().start()) {
      LockProvider provider = shedLocks(server.uri());
      for (int i = 0; i < 100; i++) {
        shedLock(provider, "job " + i, Duration.ofSeconds(60)).orElseThrow().unlock();
      }
      out.println(
          "rows after 100 names were locked and unlocked: "
              + new JdbcTemplate(database(server.uri()))
                  .queryForObject("SELECT count(*) FROM shedlock", Long.class));
    }
  }

  /** A lock is in the way of another one whose name begins in the same way. */
  static void jetcdNamesWithASlash(PrintWriter out) throws Exception {
    try (EtcdCluster server = Testbed.etcd().start();
        Client client = Clients.jetcd(List.of(server.uri().replace("etcd://", "")))) {
      for (String[] names : new String[][] {{"job/1", "job"}, {"job", "job/1"}}) {
        long first = client.getLeaseClient().grant(60).get().getID();
        long second = client.getLeaseClient().grant(60).get().getID();
        var unused = client.getLockClient().lock(bytes(names[0]), first).get();
        String outcome = "is acquired";
        try {
          var answer =
              client.getLockClient().lock(bytes(names[1]), second).get(5, TimeUnit.SECONDS);
          outcome += " as " + answer.getKey().toString().replaceAll("[0-9a-f]{12,}", "…");
        } catch (TimeoutException e) {
          outcome = "is not acquired within 5 s";
        }
        out.println("while " + names[0] + " is held, " + names[1] + " " + outcome);
        var unusedToo = client.getLeaseClient().revoke(first).get();
        var unusedEither = client.getLeaseClient().revoke(second).get();
      }
    }
  }

  private static ByteSequence bytes(String text) {
    return ByteSequence.from(text, UTF_8);
  }
}
