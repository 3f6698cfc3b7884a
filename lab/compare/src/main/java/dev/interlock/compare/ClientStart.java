package dev.interlock.compare;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.compare.baseline.BareDriver;
import dev.interlock.peers.Clients;
import dev.interlock.report.Failures;
import dev.interlock.spi.LockUri;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;

/** Measures how long a new process takes until its first lease or, for a driver, its connection. */
final class ClientStart {
  static final String DRIVER = "the driver alone";

  private static final long TIMEOUT_SECONDS = 60;

  private ClientStart() {}

  /** Starts a JVM that runs {@link #main}. */
  static Map<Figure, Double> measure(String contender, String uri)
      throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                ClientStart.class.getName(),
                contender,
                uri)
            .start();
    try {
      if (!process.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
        throw new IOException("the new process did not end within " + TIMEOUT_SECONDS + " s");
      }
      if (process.exitValue() != 0) {
        String output = text(process.getErrorStream());
        throw new IOException(output.substring(output.lastIndexOf('\n') + 1));
      }
      return Map.of(Figure.START, Long.parseLong(text(process.getInputStream())) / 1e9);
    } finally {
      process.destroyForcibly();
    }
  }

  private static String text(InputStream stream) throws IOException {
    return new String(stream.readAllBytes(), StandardCharsets.UTF_8).strip();
  }

  /**
   * Runs in the new process. Takes a contender and a URI; prints the time in nanoseconds, or the
   * failure.
   */
  public static void main(String[] arguments) {
    try {
      start(arguments[0], arguments[1]);
      System.exit(0);
    } catch (Exception e) {
      System.err.println(Failures.describe(e));
      System.exit(1);
    }
  }

  private static void start(String contender, String uri) throws Exception {
    boolean isZooKeeper = LockUri.parse(uri).scheme().equals("zookeeper");
    if (contender.equals(Competitor.OURS)) {
      long start = System.nanoTime();
      try (LockClient client = LockClient.open(uri);
          Lease lease = client.lock("start").acquire()) {
        System.out.println(System.nanoTime() - start);
      }
    } else if (isZooKeeper) { // our driver for ZooKeeper is Curator
      long start = System.nanoTime();
      try (CuratorFramework curator =
          Clients.curator(Clients.addresses(uri), Clients.CURATOR_DEFAULT_SESSION)) {
        System.out.println(System.nanoTime() - start);
      }
    } else {
      BareDriver driver = Competitor.driver(uri);
      long start = System.nanoTime();
      try (BareDriver.Session session = driver.open(uri, 1)) {
        System.out.println(System.nanoTime() - start);
      }
    }
  }
}
