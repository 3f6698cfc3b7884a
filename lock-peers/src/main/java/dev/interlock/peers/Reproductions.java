package dev.interlock.peers;

import dev.interlock.tck.Proxies;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.tck.Server;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import java.io.PrintWriter;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Lock;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * What the page calls broken, by the library's own API and nothing else. Each method is a program
 * that prints what it sees; the page shows the lines.
 */
final class Reproductions {
  private static final int WATCHDOG_SECONDS = 3;

  private Reproductions() {}

  /** A program of which the page shows what it prints. */
  interface Program {
    void run(PrintWriter out) throws Exception;
  }

  private static RedissonClient redisson(String address) {
    Config config = new Config();
    config.setLockWatchdogTimeout(WATCHDOG_SECONDS * 1_000);
    config.useSingleServer().setAddress("redis://" + address);
    return Redisson.create(config);
  }

  private static String address(RedisServer server) {
    return server.host() + ":" + server.port();
  }

  private static String secondsSince(long start) {
    return (System.nanoTime() - start) / 1_000_000_000 + " s";
  }

  /** A thread that is interrupted before it asks for the lock holds it for ever. */
  static void redissonInterruptBeforeTheCall(PrintWriter out) throws Exception {
    try (RedisServer server = Testbed.redis().start()) {
      RedissonClient one = redisson(address(server));
      RedissonClient other = redisson(address(server));
      one.getLock("warm-up").lockInterruptibly();
      Thread thread =
          new Thread(
              () -> {
                Thread.currentThread().interrupt();
                try {
                  one.getLock("job").lockInterruptibly();
                  out.println("lockInterruptibly returned");
                } catch (Exception e) {
                  out.println("lockInterruptibly threw " + e);
                }
              });
      thread.start();
      thread.join();
      out.println("the thread has ended; the watchdog's time-out is " + WATCHDOG_SECONDS + " s");
      RLock job = other.getLock("job");
      for (int i = 1; i <= 4; i++) {
        TimeUnit.SECONDS.sleep(WATCHDOG_SECONDS);
        out.println("after " + i * WATCHDOG_SECONDS + " s: locked: " + job.isLocked());
      }
      out.println("tryLock(5 s) of another client: " + job.tryLock(5, TimeUnit.SECONDS));
      one.shutdown();
      other.shutdown();
    }
  }

  /** What an interrupt does to threads that wait. */
  static void redissonInterruptWhileWaiting(PrintWriter out) throws Exception {
    try (RedisServer server = Testbed.redis().start()) {
      RedissonClient one = redisson(address(server));
      RedissonClient other = redisson(address(server));
      RLock held = one.getLock("job");
      held.lock();
      CountDownLatch ended = new CountDownLatch(2);
      Thread interruptible =
          new Thread(
              () -> {
                try {
                  other.getLock("job").lockInterruptibly();
                  out.println("lockInterruptibly returned");
                } catch (Exception e) {
                  out.println("lockInterruptibly threw " + e);
                }
                ended.countDown();
              });
      Thread patient =
          new Thread(
              () -> {
                try {
                  other.getLock("job").lock();
                  out.println(
                      "lock returned; interrupt status: " + Thread.currentThread().isInterrupted());
                } catch (Exception e) {
                  out.println("lock threw " + e);
                }
                ended.countDown();
              });
      interruptible.start();
      patient.start();
      TimeUnit.SECONDS.sleep(2);
      interruptible.interrupt();
      patient.interrupt();
      TimeUnit.SECONDS.sleep(1);
      out.println("releasing");
      held.unlock();
      out.println("both ended within 15 s: " + ended.await(15, TimeUnit.SECONDS));
      one.shutdown();
      other.shutdown();
    }
  }

  /** A waiter sleeps until the TTL of a lock that was released long ago. */
  static void redissonLostNotification(PrintWriter out) throws Exception {
    try (RedisServer server = Testbed.redis().start()) {
      RedissonClient one = redisson(address(server));
      RedissonClient other = redisson(address(server));
      RLock held = one.getLock("job");
      held.lock(30, TimeUnit.SECONDS);
      CountDownLatch acquired = new CountDownLatch(1);
      new Thread(
              () -> {
                other.getLock("job").lock();
                acquired.countDown();
              })
          .start();
      TimeUnit.SECONDS.sleep(2);
      out.println("CLIENT KILL TYPE pubsub: " + server.call("CLIENT", "KILL", "TYPE", "pubsub"));
      held.unlock();
      long released = System.nanoTime();
      out.println("released; locked: " + held.isLocked());
      boolean unused = acquired.await(60, TimeUnit.SECONDS);
      out.println("the waiter acquired the free lock " + secondsSince(released) + " later");
      one.shutdown();
      other.shutdown();
    }
  }

  /** A lock that has expired before the answer arrives is reported as acquired. */
  static void redissonLateGrant(PrintWriter out) throws Exception {
    try (RedisServer server = Testbed.redis().start();
        Network network = Proxies.network(server.uri(), 6379).orElseThrow()) {
      String behind = network.uri().replaceFirst("^redis://", "");
      RedissonClient slow = redisson(behind);
      RedissonClient other = redisson(address(server));
      RLock warm = slow.getLock("warm-up");
      boolean unused = warm.tryLock(0, 60, TimeUnit.SECONDS);
      RLock lock = slow.getLock("job");
      try (Disturbance delay =
          network.delay(Direction.SERVER_TO_CLIENT, java.time.Duration.ofSeconds(1))) {
        boolean acquired = lock.tryLock(5_000, 500, TimeUnit.MILLISECONDS);
        out.println("tryLock with a lease time of 500 ms, answers take 1 s: " + acquired);
        out.println("locked at that moment: " + other.getLock("job").isLocked());
        out.println("another client acquires it: " + other.getLock("job").tryLock());
      }
      slow.shutdown();
      other.shutdown();
    }
  }

  /** The watchdog renews the lock of a thread that has ended. */
  static void redissonThreadThatHasEnded(PrintWriter out) throws Exception {
    try (RedisServer server = Testbed.redis().start()) {
      RedissonClient one = redisson(address(server));
      RedissonClient other = redisson(address(server));
      Thread thread = new Thread(() -> one.getLock("job").lock());
      thread.start();
      thread.join();
      RLock job = other.getLock("job");
      out.println("the thread that locked has ended; the watchdog's time-out is 3 s");
      out.println("tryLock(12 s) of another client: " + job.tryLock(12, TimeUnit.SECONDS));
      one.shutdown();
      other.shutdown();
    }
  }

  private static CuratorFramework curator(String addresses) throws InterruptedException {
    CuratorFramework curator =
        CuratorFrameworkFactory.builder()
            .connectString(addresses)
            .sessionTimeoutMs(10_000)
            .retryPolicy(new ExponentialBackoffRetry(1_000, 3))
            .build();
    curator.start();
    boolean unused = curator.blockUntilConnected(10, TimeUnit.SECONDS);
    return curator;
  }

  /** A timed acquisition takes many times its time when the server does not answer. */
  static void curatorTimedAcquireOnASilentServer(PrintWriter out) throws Exception {
    try (ZooKeeperEnsemble servers = Testbed.zookeeper().forFaults().start();
        CuratorFramework curator = curator(servers.connectString())) {
      InterProcessMutex mutex = new InterProcessMutex(curator, "/job");
      mutex.acquire();
      mutex.release();
      servers.members().get(0).pause();
      long start = System.nanoTime();
      try {
        out.println("acquire(1 s) returned " + mutex.acquire(1, TimeUnit.SECONDS));
      } catch (Exception e) {
        out.println("acquire(1 s) threw " + e);
      }
      out.println("after " + secondsSince(start));
      servers.members().get(0).resume();
    }
  }

  /** A release waits for a server that does not answer. */
  static void curatorReleaseOnASilentServer(PrintWriter out) throws Exception {
    try (ZooKeeperEnsemble servers = Testbed.zookeeper().forFaults().start();
        CuratorFramework curator = curator(servers.connectString())) {
      InterProcessMutex mutex = new InterProcessMutex(curator, "/job");
      mutex.acquire();
      servers.members().get(0).pause();
      long start = System.nanoTime();
      try {
        mutex.release();
        out.println("release returned");
      } catch (Exception e) {
        out.println("release threw " + e);
      }
      out.println("after " + secondsSince(start));
      servers.members().get(0).resume();
    }
  }

  private static LettuceConnectionFactory connections(RedisServer server) {
    LettuceConnectionFactory connections =
        new LettuceConnectionFactory(server.host(), server.port());
    connections.afterPropertiesSet();
    connections.start();
    return connections;
  }

  private static RedisLockRegistry registry(LettuceConnectionFactory connections, long ttlMillis) {
    RedisLockRegistry registry = new RedisLockRegistry(connections, "registry", ttlMillis);
    ThreadPoolTaskScheduler scheduler = new ThreadPoolTaskScheduler();
    scheduler.setDaemon(true);
    scheduler.initialize();
    registry.setRenewalTaskScheduler(scheduler);
    return registry;
  }

  /** A timed attempt that is interrupted does not throw InterruptedException. */
  static void springRedisInterruptWhileWaiting(PrintWriter out) throws Exception {
    try (RedisServer server = Testbed.redis().start()) {
      LettuceConnectionFactory connections = connections(server);
      RedisLockRegistry one = new RedisLockRegistry(connections, "registry");
      RedisLockRegistry other = new RedisLockRegistry(connections, "registry");
      interruptWhileWaiting(out, one.obtain("job"), other.obtain("job"));
      connections.destroy();
    }
  }

  /** A timed attempt that is interrupted does not throw InterruptedException. */
  static void springJdbcInterruptWhileWaiting(PrintWriter out) throws Exception {
    SpringJdbcHarness harness = new SpringJdbcHarness();
    try (Server server = harness.start()) {
      String url = SpringJdbcHarness.jdbcUrl(server.uri().replaceFirst(".*//", "").replaceFirst("/.*", ""));
      interruptWhileWaiting(
          out, jdbcRegistry(url).obtain("job"), jdbcRegistry(url).obtain("job"));
    }
  }

  private static JdbcLockRegistry jdbcRegistry(String url) {
    DriverManagerDataSource source = new DriverManagerDataSource(url);
    DefaultLockRepository repository = new DefaultLockRepository(source);
    repository.setTransactionManager(new JdbcTransactionManager(source));
    repository.afterPropertiesSet();
    repository.afterSingletonsInstantiated();
    repository.start();
    return new JdbcLockRegistry(repository);
  }

  private static void interruptWhileWaiting(PrintWriter out, Lock held, Lock waiting)
      throws InterruptedException {
    held.lock();
    Thread timed =
        new Thread(
            () -> {
              try {
                out.println("tryLock(60 s) returned " + waiting.tryLock(60, TimeUnit.SECONDS));
              } catch (Exception e) {
                out.println("tryLock(60 s) threw " + e);
                out.println("  because of " + e.getCause());
                out.println("  interrupt status: " + Thread.currentThread().isInterrupted());
              }
            });
    timed.start();
    TimeUnit.SECONDS.sleep(2);
    timed.interrupt();
    timed.join();
    CountDownLatch ended = new CountDownLatch(1);
    Thread patient =
        new Thread(
            () -> {
              try {
                waiting.lock();
                out.println(
                    "lock() returned; interrupt status: " + Thread.currentThread().isInterrupted());
              } catch (Exception e) {
                out.println("lock() threw " + e);
              }
              ended.countDown();
            });
    patient.setDaemon(true);
    patient.start();
    TimeUnit.SECONDS.sleep(2);
    patient.interrupt();
    TimeUnit.SECONDS.sleep(1);
    out.println("releasing, while a thread waits in lock() that was interrupted");
    held.unlock();
    out.println("it ended within 20 s: " + ended.await(20, TimeUnit.SECONDS));
  }

  /** A lock of a thread that has ended is renewed. */
  static void springRedisThreadThatHasEnded(PrintWriter out) throws Exception {
    try (RedisServer server = Testbed.redis().start()) {
      LettuceConnectionFactory connections = connections(server);
      RedisLockRegistry one = registry(connections, 3_000);
      Thread thread = new Thread(() -> one.obtain("job").lock());
      thread.start();
      thread.join();
      out.println("the thread that locked has ended; the TTL is 3 s, with a renewalTaskScheduler");
      out.println(
          "tryLock(12 s) of another registry: "
              + registry(connections, 3_000).obtain("job").tryLock(12, TimeUnit.SECONDS));
      connections.destroy();
    }
  }

  /** A lock that has expired, and was not unlocked, stays locked in its own JVM. */
  static void springRedisExpiredInItsOwnJvm(PrintWriter out) throws Exception {
    try (RedisServer server = Testbed.redis().start()) {
      LettuceConnectionFactory connections = connections(server);
      RedisLockRegistry one = new RedisLockRegistry(connections, "registry", 2_000);
      Thread thread = new Thread(() -> one.obtain("job").lock());
      thread.start();
      thread.join();
      TimeUnit.SECONDS.sleep(5);
      out.println("the thread that locked has ended, and 5 s have passed; the TTL is 2 s");
      out.println(
          "tryLock(10 s) of the same registry: "
              + one.obtain("job").tryLock(10, TimeUnit.SECONDS));
      out.println(
          "tryLock(10 s) of another registry: "
              + new RedisLockRegistry(connections, "registry", 2_000)
                  .obtain("job")
                  .tryLock(10, TimeUnit.SECONDS));
      connections.destroy();
    }
  }

  /** What a renewal of a lock does that has expired. */
  static void springRedisRenewalOfAnExpiredLock(PrintWriter out) throws Exception {
    try (RedisServer server = Testbed.redis().start()) {
      LettuceConnectionFactory connections = connections(server);
      RedisLockRegistry one = new RedisLockRegistry(connections, "registry", 1_000);
      one.obtain("job").lock();
      TimeUnit.SECONDS.sleep(3);
      try {
        one.renewLock("job");
        out.println("renewLock returned, 2 s after the TTL");
      } catch (Exception e) {
        out.println("renewLock threw " + e);
      }
      out.println("keys: " + server.keys());
      connections.destroy();
    }
  }

  /** A lock is in the way of another one whose name begins in the same way. */
  static void jetcdNamesWithASlash(PrintWriter out) throws Exception {
    try (EtcdCluster server = Testbed.etcd().start();
        Client client = Client.builder().endpoints(server.uri().replace("etcd:", "http:")).build()) {
      for (String[] names : new String[][] {{"job/1", "job"}, {"job", "job/1"}}) {
        long first = client.getLeaseClient().grant(60).get().getID();
        long second = client.getLeaseClient().grant(60).get().getID();
        var unused = client.getLockClient().lock(bytes(names[0]), first).get();
        String outcome = "is acquired";
        try {
          var answer = client.getLockClient().lock(bytes(names[1]), second).get(5, TimeUnit.SECONDS);
          outcome += " as " + answer.getKey().toString().replaceAll("[0-9a-f]{12,}", "…");
        } catch (TimeoutException e) {
          outcome = "is not acquired within 5 s";
        }
        out.println("while " + names[0] + " is held, " + names[1] + " " + outcome);
        var revoked = client.getLeaseClient().revoke(first).get();
        var revokedToo = client.getLeaseClient().revoke(second).get();
      }
    }
  }

  private static ByteSequence bytes(String text) {
    return ByteSequence.from(text, java.nio.charset.StandardCharsets.UTF_8);
  }

  /** Runs the programs whose names contain the argument. */
  public static void main(String[] arguments) throws Exception {
    PrintWriter out = new PrintWriter(System.out, true, java.nio.charset.StandardCharsets.UTF_8);
    for (java.lang.reflect.Method method : Reproductions.class.getDeclaredMethods()) {
      if (method.getParameterCount() == 1
          && method.getParameterTypes()[0] == PrintWriter.class
          && method.getName().contains(arguments[0])) {
        out.println("== " + method.getName());
        method.invoke(null, out);
      }
    }
  }
}
