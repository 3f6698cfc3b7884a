package dev.interlock.peers;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
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
import java.io.IOException;
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
import java.util.function.BiFunction;
import javax.sql.DataSource;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.support.locks.RenewableLockRegistry;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/**
 * Programs that show the broken rules with the library's own API alone. The page shows the lines
 * that each of them prints.
 */
@SuppressWarnings("LockNotBeforeTry") // each line is one step of the demonstration
final class Reproductions {
  private static final int WATCHDOG_SECONDS = 3;
  private static final Duration MINUTE = Duration.ofSeconds(60);
  private static final List<String> REDISSON = List.of("RLock", "RFencedLock", "RedissonRedLock");

  private Reproductions() {}

  private interface Step {
    void take() throws Exception;
  }

  /** {@return a started daemon thread} */
  @CanIgnoreReturnValue
  private static Thread start(Step step) {
    Thread thread =
        new Thread(
            () -> {
              try {
                step.take();
              } catch (Exception e) {
                throw new IllegalStateException(e);
              }
            });
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  /** Runs a step on a new thread and waits for its end. */
  private static void inThread(Step step) throws InterruptedException {
    start(step).join();
  }

  /** Runs a step and prints whether it returned or threw. */
  private static void report(PrintWriter out, String what, Step step) {
    try {
      step.take();
      out.println(what + " returned");
    } catch (Exception e) {
      out.println(what + " threw " + e);
    }
  }

  private static String secondsSince(long start) {
    return (System.nanoTime() - start) / 1_000_000_000 + " s";
  }

  private static Network network(String uri) throws IOException {
    return Proxies.network(uri, 0).orElseThrow();
  }

  private interface RedissonProgram {
    void run(String kind, RedissonPrograms programs, RLock one, RLock other) throws Exception;
  }

  /** The clients of two programs that use the same three servers. */
  private static final class RedissonPrograms implements AutoCloseable {
    final List<RedisServer> servers = new ArrayList<>();
    final List<RedissonClient> one = new ArrayList<>();
    final List<RedissonClient> other = new ArrayList<>();

    RedissonPrograms() {
      for (int i = 0; i < 3; i++) {
        RedisServer server = Testbed.redis().forFaults().start();
        servers.add(server);
        one.add(redisson(server.uri()));
        other.add(redisson(server.uri()));
      }
    }

    static void run(List<String> kinds, RedissonProgram program) throws Exception {
      for (String kind : kinds) {
        try (RedissonPrograms programs = new RedissonPrograms()) {
          program.run(kind, programs, lock(kind, programs.one), lock(kind, programs.other));
        }
      }
    }

    static RLock lock(String kind, List<RedissonClient> clients) {
      return switch (kind) {
        case "RLock" -> clients.get(0).getLock("job");
        case "RFencedLock" -> clients.get(0).getFencedLock("job");
        default -> Clients.redLock(clients, "job");
      };
    }

    @Override
    public void close() {
      one.forEach(RedissonClient::shutdown);
      other.forEach(RedissonClient::shutdown);
      servers.forEach(RedisServer::close);
    }
  }

  private static RedissonClient redisson(String uri) {
    Config config = new Config();
    config.setLockWatchdogTimeout(WATCHDOG_SECONDS * 1_000);
    return Clients.redisson(Clients.addresses(uri).get(0), config);
  }

  /** A thread that was interrupted before it asks for the lock holds it forever. */
  static void redissonInterruptBeforeTheCall(PrintWriter out) throws Exception {
    RedissonPrograms.run(
        REDISSON,
        (kind, programs, one, other) -> {
          AtomicReference<Exception> thrown = new AtomicReference<>();
          // If the reply arrives before the call checks for interrupts, it returns with the lock.
          int tries = kind.equals("RedissonRedLock") ? 1 : 20;
          for (int i = 0; i < tries && thrown.get() == null; i++) {
            inThread(
                () -> {
                  Thread.currentThread().interrupt();
                  try {
                    one.lockInterruptibly();
                    var unused = Thread.interrupted();
                    one.unlock();
                  } catch (Exception e) {
                    thrown.set(e);
                  }
                });
          }
          String call = kind + ": lockInterruptibly of an interrupted thread ";
          if (thrown.get() == null) {
            out.println(call + "returned");
            return;
          }
          out.println(call + "threw " + thrown.get());
          TimeUnit.SECONDS.sleep(4 * WATCHDOG_SECONDS);
          out.println(
              "  the thread has ended; after five times the watchdog's time-out another client "
                  + (other.tryLock(WATCHDOG_SECONDS, TimeUnit.SECONDS)
                      ? "acquires"
                      : "cannot acquire")
                  + " the lock");
        });
  }

  /** Interrupts threads that wait for a lock. */
  static void redissonInterruptWhileWaiting(PrintWriter out) throws Exception {
    RedissonPrograms.run(
        REDISSON,
        (kind, programs, held, waiting) -> {
          held.lock();
          Thread interruptible =
              start(() -> report(out, kind + ": lockInterruptibly", waiting::lockInterruptibly));
          TimeUnit.SECONDS.sleep(2);
          interruptible.interrupt();
          interruptible.join(5_000);
          if (interruptible.isAlive()) {
            out.println(kind + ": lockInterruptibly still waits 5 s after the interrupt");
            return;
          }
          Thread patient =
              start(
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
        });
  }

  /** A waiter sleeps until the end of the TTL, although the lock was released long before. */
  static void redissonLostNotification(PrintWriter out) throws Exception {
    RedissonPrograms.run(
        List.of("RLock", "RFencedLock"),
        (kind, programs, held, waiting) -> {
          held.lock(20, TimeUnit.SECONDS);
          Thread waiter = start(waiting::lock);
          TimeUnit.SECONDS.sleep(2);
          var killed = programs.servers.get(0).call("CLIENT", "KILL", "TYPE", "pubsub");
          out.println(kind + ": CLIENT KILL TYPE pubsub has closed " + killed + " connection");
          held.unlock();
          long released = System.nanoTime();
          out.println("  released; isLocked: " + held.isLocked());
          waiter.join(60_000);
          out.println("  the waiter acquired the free lock " + secondsSince(released) + " later");
        });
  }

  /** A lock that has expired before the answer arrives is reported as acquired. */
  static void redissonLateGrant(PrintWriter out) throws Exception {
    RedissonPrograms.run(
        REDISSON,
        (kind, programs, one, other) -> {
          List<Network> networks = new ArrayList<>();
          List<RedissonClient> slow = new ArrayList<>();
          for (RedisServer server : programs.servers) {
            Network network = network(server.uri());
            networks.add(network);
            slow.add(redisson(network.uri()));
          }
          for (RedissonClient client : slow) {
            client.getLock("warm-up").lock(60, TimeUnit.SECONDS);
          }
          networks.forEach(Reproductions::delay);
          boolean acquired =
              RedissonPrograms.lock(kind, slow).tryLock(8_000, 500, TimeUnit.MILLISECONDS);
          out.println(
              kind + ": tryLock with a lease time of 500 ms, answers take 1 s: " + acquired);
          out.println("  tryLock of another client at that moment: " + other.tryLock());
          networks.forEach(Network::heal);
          slow.forEach(RedissonClient::shutdown);
          networks.forEach(Network::close);
        });
  }

  /** The watchdog renews the lock of a thread that has ended. */
  static void redissonThreadThatHasEnded(PrintWriter out) throws Exception {
    RedissonPrograms.run(
        REDISSON,
        (kind, programs, one, other) -> {
          inThread(one::lock);
          out.println(
              kind
                  + ": the thread that locked has ended; another client waits for four times the"
                  + " watchdog's time-out: "
                  + other.tryLock(4 * WATCHDOG_SECONDS, TimeUnit.SECONDS));
        });
  }

  /** A waiting thread does not notice that its client has been shut down. */
  static void redissonShutdownWhileWaiting(PrintWriter out) throws Exception {
    RedissonPrograms.run(
        REDISSON,
        (kind, programs, held, waiting) -> {
          held.lock(40, TimeUnit.SECONDS);
          Thread waiter =
              start(
                  () -> {
                    try {
                      waiting.lockInterruptibly();
                    } catch (InterruptedException | RuntimeException e) {
                      out.println("  lockInterruptibly threw " + e.getClass().getName());
                    }
                  });
          TimeUnit.SECONDS.sleep(2);
          programs.other.forEach(RedissonClient::shutdown);
          long shutdown = System.nanoTime();
          out.println(
              kind + ": the client of a thread that waits in lockInterruptibly is shut down");
          waiter.join(60_000);
          out.println(
              "  "
                  + secondsSince(shutdown)
                  + " later the thread "
                  + (waiter.isAlive() ? "still waits" : "has ended"));
        });
  }

  /** A thread that does not hold the lock can unlock it. */
  static void redissonRedLockUnlockByAnother(PrintWriter out) throws Exception {
    RedissonPrograms.run(
        List.of("RedissonRedLock"),
        (kind, programs, lock, other) -> {
          report(out, "unlock of a lock that nobody holds", lock::unlock);
          lock.lock();
          inThread(
              () -> report(out, "unlock by a thread that does not hold the lock", lock::unlock));
          out.println("tryLock of another client: " + other.tryLock());
        });
  }

  /** An attempt while no server answers looks like an attempt on a held lock. */
  static void redissonRedLockWithoutServers(PrintWriter out) throws Exception {
    RedissonPrograms.run(
        List.of("RedissonRedLock"),
        (kind, programs, lock, other) -> {
          out.println("tryLock of a free lock: " + lock.tryLock());
          lock.unlock();
          programs.servers.forEach(RedisServer::kill);
          out.println("all three servers are dead");
          out.println("tryLock: " + lock.tryLock());
        });
  }

  /** The keys of fencing tokens never expire. */
  static void redissonFencedTokens(PrintWriter out) throws Exception {
    try (RedisServer server = Testbed.redis().start()) {
      RedissonClient one = redisson(server.uri());
      for (int i = 0; i < 3; i++) {
        one.getFencedLock("order " + i).lock();
        one.getFencedLock("order " + i).unlock();
      }
      out.println("three locks were acquired and released; keys and their times to live:");
      new TreeMap<>(server.keys()).forEach((key, left) -> out.println("  " + key + ": " + left));
      one.shutdown();
    }
  }

  /** An attempt without a waiting time waits for the holder. */
  static void redissonFencedAttempt(PrintWriter out) throws Exception {
    try (RedisServer server = Testbed.redis().start()) {
      RedissonClient one = redisson(server.uri());
      RedissonClient other = redisson(server.uri());
      one.getFencedLock("job").lock();
      out.println("held by another client, and renewed");
      RFencedLock lock = other.getFencedLock("job");
      attempt(out, "tryLock()", lock::tryLock);
      attempt(out, "tryLockAndGetToken()", lock::tryLockAndGetToken);
      for (int seconds : new int[] {0, 1}) {
        attempt(
            out,
            "tryLockAndGetToken(" + seconds + " s)",
            () -> lock.tryLockAndGetToken(seconds, TimeUnit.SECONDS));
      }
      one.shutdown();
      other.shutdown();
    }
  }

  private static void attempt(PrintWriter out, String what, Callable<?> call) throws Exception {
    FutureTask<?> task = new FutureTask<>(call);
    start(task::run);
    try {
      out.println(what + " returned " + task.get(10, TimeUnit.SECONDS));
    } catch (TimeoutException e) {
      out.println(what + " has not returned after 10 s");
    } catch (ExecutionException e) {
      out.println(what + " threw " + e.getCause());
    }
  }

  /** A timed acquisition far exceeds its time limit while the server does not answer. */
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

  /** A program for one of Spring's registries; {@code registry} creates a new one at each call. */
  private interface SpringProgram {
    void run(
        String kind,
        String uri,
        BiFunction<String, Duration, RenewableLockRegistry<? extends Lock>> registry)
        throws Exception;
  }

  private static void runOnBothRegistries(SpringProgram program) throws Exception {
    List<LettuceConnectionFactory> connections = new ArrayList<>();
    try (Server server = new Peers.SpringRedisHarness().start()) {
      program.run(
          "RedisLockRegistry",
          server.uri(),
          (uri, ttl) -> {
            LettuceConnectionFactory own = lettuce(uri);
            connections.add(own);
            return new RedisLockRegistry(own, "registry", ttl.toMillis());
          });
      connections.forEach(LettuceConnectionFactory::destroy);
    }
    try (Server server = new Peers.SpringJdbcHarness().start()) {
      program.run("JdbcLockRegistry", server.uri(), Reproductions::jdbcRegistry);
    }
  }

  private static LettuceConnectionFactory lettuce(String uri) {
    return Clients.lettuce(Clients.addresses(uri).get(0), MINUTE); // the default of Lettuce
  }

  private static DataSource database(String uri) {
    return new DriverManagerDataSource(Clients.postgresUrl(uri));
  }

  private static JdbcLockRegistry jdbcRegistry(String uri, Duration ttl) {
    return new JdbcLockRegistry(Clients.repository(database(uri)), ttl);
  }

  /** An interrupted timed attempt does not throw InterruptedException. */
  static void springInterruptWhileWaiting(PrintWriter out) throws Exception {
    runOnBothRegistries(
        (kind, uri, registry) -> {
          Lock holder = registry.apply(uri, MINUTE).obtain("job");
          Lock waiting = registry.apply(uri, MINUTE).obtain("job");
          holder.lock();
          Thread timed =
              start(
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
          // Interrupt between two attempts: the effect during a request depends on the driver.
          do {
            TimeUnit.MILLISECONDS.sleep(1);
          } while (!isAsleep(timed));
          timed.interrupt();
          timed.join();
          holder.unlock();
          inThread(
              () -> {
                Thread.currentThread().interrupt();
                boolean acquired = waiting.tryLock();
                out.println(kind + ": tryLock() of an interrupted thread, lock free: " + acquired);
              });
        });
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
    runOnBothRegistries(
        (kind, uri, registry) -> {
          try (Network network = network(uri)) {
            RenewableLockRegistry<? extends Lock> slow =
                registry.apply(network.uri(), Duration.ofMillis(500));
            Lock warm = slow.obtain("warm-up");
            warm.lock();
            warm.unlock();
            Lock other = registry.apply(uri, MINUTE).obtain("job");
            try (Disturbance delay = delay(network)) {
              out.println(
                  kind
                      + ": tryLock(30 s) with a TTL of 500 ms, answers take 1 s: "
                      + slow.obtain("job").tryLock(30, TimeUnit.SECONDS));
              out.println("  tryLock of another registry at that moment: " + other.tryLock());
              report(out, "  renewLock of the first registry", () -> slow.renewLock("job"));
            }
          }
        });
  }

  @CanIgnoreReturnValue
  private static Disturbance delay(Network network) {
    return network.delay(Direction.SERVER_TO_CLIENT, Duration.ofSeconds(1));
  }

  /** The registry renews the lock of a thread that has ended. */
  static void springRedisThreadThatHasEnded(PrintWriter out) throws Exception {
    try (RedisServer server = Testbed.redis().start()) {
      LettuceConnectionFactory connections = lettuce(server.uri());
      RedisLockRegistry one = renewed(connections);
      inThread(() -> one.obtain("job").lock());
      out.println("the thread that locked has ended; the TTL is 3 s, with a renewalTaskScheduler");
      out.println(
          "tryLock(12 s) of another registry: "
              + renewed(connections).obtain("job").tryLock(12, TimeUnit.SECONDS));
      connections.destroy();
    }
  }

  private static RedisLockRegistry renewed(LettuceConnectionFactory connections) {
    RedisLockRegistry registry = new RedisLockRegistry(connections, "registry", 3_000);
    registry.setRenewalTaskScheduler(Clients.scheduler());
    return registry;
  }

  /** A lock that expired without an unlock stays locked in its own JVM. */
  static void springExpiredInItsOwnJvm(PrintWriter out) throws Exception {
    runOnBothRegistries(
        (kind, uri, registry) -> {
          Lock one = registry.apply(uri, Duration.ofSeconds(2)).obtain("job");
          Lock other = registry.apply(uri, Duration.ofSeconds(2)).obtain("job");
          inThread(one::lock);
          TimeUnit.SECONDS.sleep(5);
          out.println(kind + ": the thread that locked has ended, 5 s have passed; the TTL is 2 s");
          out.println("  tryLock(10 s) of the same registry: " + one.tryLock(10, TimeUnit.SECONDS));
          out.println(
              "  tryLock(10 s) of another registry: " + other.tryLock(10, TimeUnit.SECONDS));
        });
  }

  /** A renewal revives an expired lock that nobody else has taken since. */
  static void springJdbcRenewalOfAnExpiredLock(PrintWriter out) throws Exception {
    try (Server server = new Peers.SpringJdbcHarness().start()) {
      JdbcLockRegistry one = jdbcRegistry(server.uri(), Duration.ofSeconds(2));
      one.obtain("job").lock();
      TimeUnit.SECONDS.sleep(5);
      one.renewLock("job", MINUTE);
      out.println("renewLock(60 s) returned, 3 s after the end of the TTL");
      out.println(
          "tryLock of another registry: "
              + jdbcRegistry(server.uri(), Duration.ofSeconds(2)).obtain("job").tryLock());
    }
  }

  /** Asks a new provider for a lock. */
  private static Optional<SimpleLock> shedLock(String uri, String name, Duration lockAtMostFor) {
    return shedLock(Clients.shedLock(database(uri)), name, lockAtMostFor);
  }

  private static Optional<SimpleLock> shedLock(
      LockProvider provider, String name, Duration lockAtMostFor) {
    return provider.lock(
        new LockConfiguration(ClockProvider.now(), name, lockAtMostFor, Duration.ZERO));
  }

  /** The unlock or extension of an expired lock takes the lock of its successor. */
  static void shedlockUnlockOfASuccessor(PrintWriter out) throws Exception {
    try (Server server = new Peers.ShedLockJdbcHarness().start()) {
      for (boolean extend : new boolean[] {false, true}) {
        String name = extend ? "other job" : "job";
        SimpleLock first = shedLock(server.uri(), name, Duration.ofSeconds(1)).orElseThrow();
        TimeUnit.SECONDS.sleep(3);
        out.println(
            "lock() of a second provider, 2 s after the first lock has ended: "
                + shedLock(server.uri(), name, MINUTE).isPresent());
        if (extend) {
          out.println(
              "extend() of the first lock, while the second is held: "
                  + first.extend(MINUTE, Duration.ZERO).isPresent());
        } else {
          first.unlock();
          out.println("unlock() of the first lock, while the second is held, returned");
          out.println(
              "lock() of a third provider: " + shedLock(server.uri(), name, MINUTE).isPresent());
        }
      }
    }
  }

  /** A lock that expires before the reply arrives is reported as acquired. */
  static void shedlockLateGrant(PrintWriter out) throws Exception {
    try (Server server = new Peers.ShedLockJdbcHarness().start();
        Network network = network(server.uri())) {
      LockProvider slow = Clients.shedLock(database(network.uri()));
      shedLock(slow, "warm-up", MINUTE).orElseThrow().unlock();
      try (Disturbance delay = delay(network)) {
        out.println(
            "lock() with lockAtMostFor of 500 ms, answers take 1 s: "
                + shedLock(slow, "job", Duration.ofMillis(500)).isPresent());
        out.println(
            "lock() of another provider at that moment: "
                + shedLock(server.uri(), "job", MINUTE).isPresent());
      }
    }
  }

  /** Rows of unlocked names remain in the table. */
  static void shedlockRows(PrintWriter out) throws Exception {
    try (Server server = new Peers.ShedLockJdbcHarness().start()) {
      LockProvider provider = Clients.shedLock(database(server.uri()));
      for (int i = 0; i < 100; i++) {
        shedLock(provider, "job " + i, MINUTE).orElseThrow().unlock();
      }
      out.println(
          "rows after 100 names were locked and unlocked: "
              + new JdbcTemplate(database(server.uri()))
                  .queryForObject("SELECT count(*) FROM shedlock", Long.class));
    }
  }

  /** A lock excludes another one whose name begins with its name and a slash. */
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
