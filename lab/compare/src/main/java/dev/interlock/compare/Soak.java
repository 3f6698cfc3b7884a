package dev.interlock.compare;

import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.report.Contender;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.server.Deployment;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Parameters;

/**
 * Runs many cycles. Ten times it shows the rate and the resources of client and server: growth is a
 * leak, and a falling rate is wear. Then it leaves the client idle and shows the cost of that.
 *
 * <p>The resources of the server are shown for a single Redis only.
 */
@Command(
    name = "soak",
    description = "Runs many cycles of acquire and release, to find leaks.",
    mixinStandardHelpOptions = true)
final class Soak implements Callable<Integer> {
  private static final int REPORTS = 10;
  private static final Duration IDLE_TIME = Duration.ofSeconds(10);

  @Parameters(
      paramLabel = "BACKEND|URI",
      description = "A backend, whose server is started, or the URI of a store.")
  private String where = "";

  @Parameters(
      paramLabel = "CYCLES",
      converter = Grouped.class,
      description = "The number of cycles.")
  private int cycles;

  @Parameters(
      paramLabel = "NAMES",
      converter = Grouped.class,
      defaultValue = "1",
      description = "The number of names. Default: 1.")
  private int names;

  /** Parses a number that may be written as in Java, such as {@code 100_000}. */
  static final class Grouped implements ITypeConverter<Integer> {
    @Override
    public Integer convert(String value) {
      return Integer.valueOf(value.replace("_", ""));
    }
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    Contender contender =
        where.contains(":") ? Contender.at(List.of(where)).get(0) : Contender.named(where);
    try (Deployment deployment = contender.startServers().orElse(null)) {
      if (deployment == null) {
        run(String.valueOf(contender.uri()), null);
      } else {
        System.out.println(where + " " + deployment.version() + ", " + deployment.source());
        run(deployment.uri(), deployment instanceof RedisServer single ? single : null);
      }
    }
    return 0;
  }

  private void run(String uri, @Nullable RedisServer redis)
      throws IOException, InterruptedException {
    try (LockClient client = LockClient.open(uri)) {
      int cyclesPerReport = cycles / REPORTS;
      System.out.println("   cycles cycles/s   heap kB  threads  connections  keys");
      for (int report = 1; report <= REPORTS; report++) {
        long started = System.nanoTime();
        for (int i = 0; i < cyclesPerReport; i++) {
          DistributedLock lock = client.lock("soak/" + i % names);
          try (Lease lease = lock.acquire()) {
            lease.ensureHeld();
          }
        }
        double seconds = (System.nanoTime() - started) / 1e9;
        show((long) report * cyclesPerReport, cyclesPerReport / seconds, redis);
      }
      measureIdle(redis);
    }
  }

  private static void show(long cycles, double rate, @Nullable RedisServer redis)
      throws IOException {
    System.out.printf(
        Locale.ROOT,
        "%9d  %7.0f  %8d  %7d  %11s  %4s%n",
        cycles,
        rate,
        ThisProcess.heapBytes() / 1024,
        ManagementFactory.getThreadMXBean().getThreadCount(),
        redis == null ? "-" : redis.info("clients", "connected_clients"),
        redis == null ? "-" : redis.call("DBSIZE"));
  }

  private static void measureIdle(@Nullable RedisServer redis)
      throws IOException, InterruptedException {
    long before = ThisProcess.processorNanos();
    long commands = redis == null ? 0 : commands(redis);
    Thread.sleep(IDLE_TIME.toMillis());
    String commandsText =
        redis == null
            ? ""
            : ", " + (commands(redis) - commands) + " commands (one is this question)";
    System.out.printf(
        Locale.ROOT,
        "idle for %d s: %.1f ms of processor time%s%n",
        IDLE_TIME.toSeconds(),
        (ThisProcess.processorNanos() - before) / 1e6,
        commandsText);
  }

  /** {@return the number of commands that the server has processed} */
  static long commands(RedisServer redis) throws IOException {
    return Long.parseLong(redis.info("stats", "total_commands_processed"));
  }
}
