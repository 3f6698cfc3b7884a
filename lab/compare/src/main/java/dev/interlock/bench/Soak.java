package dev.interlock.bench;

import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.compare.rounds.OwnProcess;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.server.Deployment;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Acquires and releases very often. Shows ten times how fast that is and what client and server
 * hold: growth is a leak, and a falling speed is wear. Then leaves the client idle, and shows what
 * that costs.
 *
 * <p>Arguments: a backend, whose server is started, or a URI; how many pairs; over how many names,
 * by default 1. What the server holds is shown for a single Redis only.
 */
public final class Soak {
  private static final int REPORTS = 10;
  private static final Duration REST = Duration.ofSeconds(10);

  private Soak() {}

  /** Runs it. */
  public static void main(String[] arguments) throws IOException, InterruptedException {
    if (arguments.length < 2) {
      System.err.println("usage: soak memory|redis|redlock|zookeeper|etcd|URI PAIRS [NAMES]");
      System.exit(2);
    }
    int pairs = Integer.parseInt(arguments[1].replace("_", ""));
    int names = arguments.length > 2 ? Integer.parseInt(arguments[2].replace("_", "")) : 1;
    Backend backend = Backend.find(arguments[0]).orElse(null);
    if (backend == null) {
      run(arguments[0].equals("memory") ? "memory:soak" : arguments[0], null, pairs, names);
    } else {
      try (Deployment deployment = backend.start()) {
        System.out.println(arguments[0] + " " + deployment.version() + ", " + deployment.how());
        RedisServer redis = deployment instanceof RedisServer single ? single : null;
        run(deployment.uri(), redis, pairs, names);
      }
    }
  }

  private static void run(String uri, @Nullable RedisServer redis, int pairs, int names)
      throws IOException, InterruptedException {
    try (LockClient client = LockClient.open(uri)) {
      int share = pairs / REPORTS;
      System.out.println("    pairs  pairs/s   heap kB  threads  connections  keys");
      for (int report = 1; report <= REPORTS; report++) {
        long started = System.nanoTime();
        for (int i = 0; i < share; i++) {
          DistributedLock lock = client.lock("soak/" + i % names);
          try (Lease lease = lock.acquire()) {
            lease.ensureHeld();
          }
        }
        double seconds = (System.nanoTime() - started) / 1e9;
        show((long) report * share, share / seconds, redis);
      }
      rest(redis);
    }
  }

  private static void show(long pairs, double rate, @Nullable RedisServer redis)
      throws IOException {
    System.out.printf(
        Locale.ROOT,
        "%9d  %7.0f  %8d  %7d  %11s  %4s%n",
        pairs,
        rate,
        OwnProcess.heapBytes() / 1024,
        ManagementFactory.getThreadMXBean().getThreadCount(),
        redis == null ? "-" : redis.info("clients", "connected_clients"),
        redis == null ? "-" : redis.call("DBSIZE"));
  }

  private static void rest(@Nullable RedisServer redis) throws IOException, InterruptedException {
    long before = OwnProcess.processorNanos();
    long commands = redis == null ? 0 : commands(redis);
    Thread.sleep(REST.toMillis());
    String more =
        redis == null
            ? ""
            : ", " + (commands(redis) - commands) + " commands (one is this question)";
    System.out.printf(
        Locale.ROOT,
        "idle for %d s: %.1f ms of processor time%s%n",
        REST.toSeconds(),
        (OwnProcess.processorNanos() - before) / 1e6,
        more);
  }

  /** {@return how many commands the server has processed} */
  static long commands(RedisServer redis) throws IOException {
    return Long.parseLong(redis.info("stats", "total_commands_processed"));
  }
}
