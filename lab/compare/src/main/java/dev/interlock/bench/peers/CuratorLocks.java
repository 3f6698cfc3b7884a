package dev.interlock.bench.peers;

import dev.interlock.compare.rounds.Locking;
import dev.interlock.spi.LockUri;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Curator's recipes, with Curator's default time-outs unless said otherwise. */
record CuratorLocks(CuratorFramework curator, Way way) implements Locking {
  private static final int DEFAULT_PORT = 2181;
  private static final int DEFAULT_SESSION_MILLIS = 60_000;
  private static final int CONNECTION_MILLIS = 15_000;

  /** A recipe. */
  interface Way {
    Optional<? extends AutoCloseable> acquire(
        CuratorFramework curator, String path, Duration atMost) throws Exception;
  }

  static Peer<Locking> lock() {
    return new Peer<>("InterProcessMutex", (uri, threads) -> open(uri));
  }

  /** The read lock of {@code InterProcessReadWriteLock}. */
  static Peer<Locking> readers() {
    return peer(
        "InterProcessReadWriteLock",
        (curator, path, atMost) ->
            held(new InterProcessReadWriteLock(curator, path).readLock(), atMost));
  }

  /** One lease of {@code InterProcessSemaphoreV2}. */
  static Peer<Locking> permits(int limit) {
    return peer(
        "InterProcessSemaphoreV2",
        (curator, path, atMost) ->
            Optional.ofNullable(
                new InterProcessSemaphoreV2(curator, path, limit)
                    .acquire(atMost.toMillis(), TimeUnit.MILLISECONDS)));
  }

  private static Peer<Locking> peer(String name, Way way) {
    return new Peer<>(name, (uri, threads) -> open(uri, way));
  }

  private static Optional<AutoCloseable> held(InterProcessLock lock, Duration atMost)
      throws Exception {
    return lock.acquire(atMost.toMillis(), TimeUnit.MILLISECONDS)
        ? Optional.of(lock::release)
        : Optional.empty();
  }

  /** Connects for {@code InterProcessMutex}, and waits until it is connected. */
  static CuratorLocks open(String uri) throws InterruptedException {
    return open(uri, CuratorLocks::mutex);
  }

  /** The same with another session time-out. */
  static CuratorLocks open(String uri, Duration session) throws InterruptedException {
    return open(uri, CuratorLocks::mutex, Math.toIntExact(session.toMillis()));
  }

  private static Optional<AutoCloseable> mutex(
      CuratorFramework curator, String path, Duration atMost) throws Exception {
    return held(new InterProcessMutex(curator, path), atMost);
  }

  private static CuratorLocks open(String uri, Way way) throws InterruptedException {
    return open(uri, way, DEFAULT_SESSION_MILLIS);
  }

  private static CuratorLocks open(String uri, Way way, int sessionMillis)
      throws InterruptedException {
    String addresses =
        LockUri.parse(uri).endpoints(DEFAULT_PORT).stream()
            .map(LockUri.Endpoint::toString)
            .collect(Collectors.joining(","));
    CuratorFramework curator =
        CuratorFrameworkFactory.newClient(
            addresses, sessionMillis, CONNECTION_MILLIS, new ExponentialBackoffRetry(1_000, 3));
    curator.start();
    if (!curator.blockUntilConnected(Math.toIntExact(PATIENCE.toSeconds()), TimeUnit.SECONDS)) {
      curator.close();
      throw new IllegalStateException("no connection to " + addresses);
    }
    return new CuratorLocks(curator, way);
  }

  @Override
  public Optional<? extends AutoCloseable> acquire(String name, Duration atMost) throws Exception {
    return way.acquire(curator, "/curator/" + name, atMost);
  }

  @Override
  public void close() {
    curator.close();
  }
}
