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
 * The weight of a client that holds 10,000 renewed leases, and of one with 1,000 waiters for one
 * name: heap after collection beyond what it was before, threads beyond those of the client, the
 * processor time of three renewals of every lease, and the requests to a single Redis meanwhile.
 */
@Command(
    name = "weight",
    description = "What 10,000 held leases and 1,000 waiters for one name weigh.",
    mixinStandardHelpOptions = true)
final class Weight implements Callable<Integer> {
  private static final int LEASES = 10_000;
  private static final int WAITERS = 1_000;
  private static final int WARM_UP = 500;

  /** Three times the renewal interval of the default TTL. */
  private static final Duration RENEWALS = Duration.ofSeconds(30);

  private static final Duration REST = Duration.ofSeconds(10);

  @Parameters(
      paramLabel = "BACKEND",
      arity = "0..*",
      description = "redis, redlock, zookeeper or etcd. Default: all.")
  private List<String> names = List.of();

  @Override
  public Integer call() throws IOException, InterruptedException {
    Set<Store> stores = Store.named(names);
    System.out.println(
        "| | heap per held lease | threads more | processor time, of one core | requests a second"
            + " | heap per waiter | requests a second |");
    System.out.println("|---|---:|---:|---:|---:|---:|---:|");
    for (Store store : stores) {
      try (Deployment servers = store.start()) {
        System.out.println("| " + store + held(servers) + waiting(servers) + " |");
      }
    }
    return 0;
  }

  private static String held(Deployment servers) throws IOException, InterruptedException {
    try (LockClient client = LockClient.open(servers.uri())) {
      release(hold(client, "warm-up", WARM_UP));
      long heap = OwnProcess.heapBytes();
      int threads = ManagementFactory.getThreadMXBean().getThreadCount();
      List<Lease> leases = hold(client, "held", LEASES);
      long perLease = (OwnProcess.heapBytes() - heap) / LEASES;
      Thread.sleep(RENEWALS.toMillis()); // until what renews is compiled
      long commands = commands(servers);
      long processor = OwnProcess.processorNanos();
      Thread.sleep(RENEWALS.toMillis());
      double share = (double) (OwnProcess.processorNanos() - processor) / RENEWALS.toNanos();
      String requests = perSecond(servers, commands, RENEWALS);
      int more = ManagementFactory.getThreadMXBean().getThreadCount() - threads;
      long lost = leases.stream().filter(lease -> !lease.isHeld()).count();
      release(leases);
      return String.format(
          Locale.ROOT,
          " | %,d bytes | %d | %.1f %%%s | %s",
          perLease,
          more,
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

  private static String waiting(Deployment servers) throws IOException, InterruptedException {
    try (LockClient holder = LockClient.open(servers.uri());
        LockClient client = LockClient.open(servers.uri());
        Lease held = holder.lock("hot").acquire()) {
      cancel(wait(client, WARM_UP));
      long heap = OwnProcess.heapBytes();
      List<CompletableFuture<Lease>> waiters = wait(client, WAITERS);
      long perWaiter = (OwnProcess.heapBytes() - heap) / WAITERS;
      long commands = commands(servers);
      Thread.sleep(REST.toMillis());
      String requests = perSecond(servers, commands, REST);
      held.ensureHeld();
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

  /** The commands that a single Redis has processed; 0 for others. */
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
