package dev.interlock.bench.peers;

import dev.interlock.compare.rounds.Locking;
import dev.interlock.compare.rounds.Pairs;
import dev.interlock.spi.LockUri;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.lock.LockResponse;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * jetcd's own lock. On one lease for all acquisitions of a client it is not exclusive between the
 * threads of that client; with a lease for each acquisition it is. Leases outlast the measurement
 * and are not renewed.
 */
final class JetcdLock implements Locking {
  private static final int DEFAULT_PORT = 2379;
  private static final long TTL_SECONDS = 60;
  private static final long WHOLE_RUN_SECONDS = 3600;

  private final Client client;
  private final long shared;

  private JetcdLock(Client client, long shared) {
    this.client = client;
    this.shared = shared;
  }

  /** With one lease for all acquisitions, for a single thread. */
  static Peer<Pairs> onSharedLease() {
    return new Peer<>("jetcd Lock, shared lease", (uri, threads) -> open(uri, true));
  }

  static Peer<Locking> onLeaseEach() {
    return new Peer<>("jetcd Lock, a lease each", (uri, threads) -> open(uri, false));
  }

  private static JetcdLock open(String uri, boolean sharing) throws Exception {
    Client client =
        Client.builder()
            .endpoints(
                LockUri.parse(uri).endpoints(DEFAULT_PORT).stream()
                    .map(server -> URI.create("http://" + server))
                    .toList())
            .build();
    try {
      return new JetcdLock(client, sharing ? grant(client, WHOLE_RUN_SECONDS) : 0);
    } catch (Exception e) {
      client.close();
      throw e;
    }
  }

  private static long grant(Client client, long seconds) throws Exception {
    return await(client.getLeaseClient().grant(seconds)).getID();
  }

  private static <T> T await(CompletableFuture<T> answer) throws Exception {
    return answer.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
  }

  @Override
  public Optional<AutoCloseable> acquire(String name, Duration atMost) throws Exception {
    long lease = shared == 0 ? grant(client, TTL_SECONDS) : shared;
    ByteSequence key = ByteSequence.from("jetcd/" + name, StandardCharsets.UTF_8);
    CompletableFuture<LockResponse> asked = client.getLockClient().lock(key, lease);
    try {
      ByteSequence held = asked.get(atMost.toMillis(), TimeUnit.MILLISECONDS).getKey();
      return Optional.of(() -> release(held, lease));
    } catch (TimeoutException e) {
      leave(asked, lease);
      return Optional.empty();
    }
  }

  private void release(ByteSequence held, long lease) throws Exception {
    var unlocked = await(client.getLockClient().unlock(held));
    leave(CompletableFuture.completedFuture(unlocked), lease);
  }

  /** Revoking the lease gives up the place in the queue; cancelling the call would not. */
  private void leave(CompletableFuture<?> asked, long lease) throws Exception {
    if (lease != shared) {
      var revoked = await(client.getLeaseClient().revoke(lease));
    }
    asked.cancel(true);
  }

  @Override
  public void close() throws Exception {
    try {
      if (shared != 0) {
        var revoked = await(client.getLeaseClient().revoke(shared));
      }
    } finally {
      client.close();
    }
  }
}
