package dev.interlock.bench.peers;

import dev.interlock.compare.rounds.Locking;
import dev.interlock.spi.LockUri;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Curator's {@code InterProcessMutex}, with Curator's default time-outs. */
record CuratorMutex(CuratorFramework curator) implements Locking {
  private static final int DEFAULT_PORT = 2181;

  static Peer<Locking> lock() {
    return new Peer<>("InterProcessMutex", (uri, threads) -> open(uri));
  }

  /** Connects, and waits until it is connected. */
  static CuratorMutex open(String uri) throws InterruptedException {
    String addresses =
        LockUri.parse(uri).endpoints(DEFAULT_PORT).stream()
            .map(LockUri.Endpoint::toString)
            .collect(Collectors.joining(","));
    CuratorFramework curator =
        CuratorFrameworkFactory.newClient(addresses, new ExponentialBackoffRetry(1_000, 3));
    curator.start();
    if (!curator.blockUntilConnected(Math.toIntExact(PATIENCE.toSeconds()), TimeUnit.SECONDS)) {
      curator.close();
      throw new IllegalStateException("no connection to " + addresses);
    }
    return new CuratorMutex(curator);
  }

  @Override
  public Optional<AutoCloseable> acquire(String name, Duration atMost) throws Exception {
    InterProcessMutex mutex = new InterProcessMutex(curator, "/curator/" + name);
    return mutex.acquire(atMost.toMillis(), TimeUnit.MILLISECONDS)
        ? Optional.of(mutex::release)
        : Optional.empty();
  }

  @Override
  public void close() {
    curator.close();
  }
}
