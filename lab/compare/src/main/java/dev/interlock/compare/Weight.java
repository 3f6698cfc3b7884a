package dev.interlock.compare;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.server.Deployment;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/**
 * Measures a client that holds 10,000 renewed leases, and one with 1,000 waiters for one name: the
 * heap and threads that they add, the processor time of three renewals of every lease, and the
 * requests to a single Redis.
 */
@Command(
    name = "weight",
    description = "Measures what 10,000 held leases and 1,000 waiters for one name cost.",
    mixinStandardHelpOptions = true)
final class Weight implements Callable<Integer> {
  private static final int LEASES = 10_000;
  private static final int WAITERS = 1_000;
  private static final int WARM_UP = 500;

  /** Three times the renewal interval of the default TTL. */
  private static final Duration RENEWAL_TIME = Duration.ofSeconds(30);

  private static final Duration WAITING_TIME = Duration.ofSeconds(10);

  @Parameters(
      paramLabel = "BACKEND",
      arity = "0..*",
      description = "redis, redlock, zookeeper or etcd. Default: all.")
  private List<String> names = List.of();

  @Override
  public Integer call() throws IOException, InterruptedException {
    Set<Store> stores = Store.named(names);
    System.out.println(
        "| | heap per held lease | additional threads | processor time, of one core"
            + " | requests a second | heap per waiter | requests a second |");
    System.out.println("|---|---:|---:|---:|---:|---:|---:|");
    for (Store store : stores) {
      try (Deployment servers = store.start()) {
        System.out.println("| " + store + measureHeld(servers) + measureWaiting(servers) + " |");
      }
    }
    return 0;
  }

  private static String measureHeld(Deployment servers) throws IOException, InterruptedException {
    try (LockClient client = LockClient.open(servers.uri())) {
      release(hold(client, "warm-up", WARM_UP));
      long heap = ThisProcess.heapBytes();
      int threads = ManagementFactory.getThreadMXBean().getThreadCount();
      List<Lease> leases = hold(client, "held", LEASES);
      long perLease = (ThisProcess.heapBytes() - heap) / LEASES;
      Thread.sleep(RENEWAL_TIME.toMillis()); // until the code of renewals is compiled
      long commands = commands(servers);
      long processor = ThisProcess.processorNanos();
      Thread.sleep(RENEWAL_TIME.toMillis());
      double share = (double) (ThisProcess.processorNanos() - processor) / RENEWAL_TIME.toNanos();
      String requests = perSecond(servers, commands, RENEWAL_TIME);
      int addedThreads = ManagementFactory.getThreadMXBean().getThreadCount() - threads;
      long lost = leases.stream().filter(lease -> !lease.isHeld()).count();
      release(leases);
      return String.format(
          Locale.ROOT,
          " | %,d bytes | %d | %.1f %%%s | %s",
          perLease,
          addedThreads,
          share * 100,
          lost == 0 ? "" : ", " + lost + " lost",
          requests);
    }
  }

  private static List<Lease> hold(LockClient client, String prefix, int count)
      throws InterruptedException {
    List<Lease> leases = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      leases.add(client.lock(prefix + "/" + i).acquire());
    }
    return leases;
  }

  private static void release(List<Lease> leases) {
    leases.forEach(Lease::release);
  }

  private static String measureWaiting(Deployment servers)
      throws IOException, InterruptedException {
    try (LockClient holder = LockClient.open(servers.uri());
        LockClient client = LockClient.open(servers.uri());
        Lease lease = holder.lock("hot").acquire()) {
      cancel(wait(client, WARM_UP));
      long heap = ThisProcess.heapBytes();
      List<CompletableFuture<Lease>> waiters = wait(client, WAITERS);
      long perWaiter = (ThisProcess.heapBytes() - heap) / WAITERS;
      long commands = commands(servers);
      Thread.sleep(WAITING_TIME.toMillis());
      String requests = perSecond(servers, commands, WAITING_TIME);
      lease.ensureHeld();
      cancel(waiters);
      return String.format(Locale.ROOT, " | %,d bytes | %s", perWaiter, requests);
    }
  }

  private static List<CompletableFuture<Lease>> wait(LockClient client, int count) {
    List<CompletableFuture<Lease>> waiters = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      waiters.add(client.lock("hot").acquireAsync());
    }
    return waiters;
  }

  private static void cancel(List<CompletableFuture<Lease>> waiters) {
    waiters.forEach(waiter -> waiter.cancel(true));
  }

  /** {@return the number of commands that a single Redis has processed; 0 for other stores} */
  private static long commands(Deployment servers) throws IOException {
    return servers instanceof RedisServer redis ? Soak.commands(redis) : 0;
  }

  private static String perSecond(Deployment servers, long before, Duration duration)
      throws IOException {
    return servers instanceof RedisServer
        ? String.format(
            Locale.ROOT, "%.1f", (commands(servers) - before) * 1e9 / duration.toNanos())
        : "–";
  }
}
