package dev.interlock.compare;

import dev.interlock.compare.baseline.Cycler;
import dev.interlock.peers.Clients;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.lock.LockResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The {@code Lock} of jetcd. Only acquisitions on different etcd leases exclude each other. So each
 * acquisition uses a lease from a pool, which has one for each thread, or a lease that is granted
 * for it. The leases outlast the measurement and are not renewed.
 *
 * @param pool the unused leases; null if each acquisition is granted a lease
 */
record JetcdLock(Client client, @Nullable Queue<Long> pool) implements Locking {
  private static final long TTL_SECONDS = 60;
  private static final long WHOLE_RUN_SECONDS = 3600;

  /** {@return jetcd's lock with one reused lease for each thread} */
  static Competitor<Cycler> withPooledLeases() {
    return new Competitor<>("jetcd Lock, pooled leases", JetcdLock::open);
  }

  static Competitor<Locking> withLeasePerCycle() {
    return new Competitor<>("jetcd Lock, a lease each", (uri, threads) -> open(uri, 0));
  }

  private static JetcdLock open(String uri, int pooled) throws Exception {
    Client client = Clients.jetcd(Clients.addresses(uri));
    try {
      Queue<Long> pool = new ConcurrentLinkedQueue<>();
      for (int i = 0; i < pooled; i++) {
        pool.add(grant(client, WHOLE_RUN_SECONDS));
      }
      return new JetcdLock(client, pooled == 0 ? null : pool);
    } catch (Exception e) {
      client.close();
      throw e;
    }
  }

  private static long grant(Client client, long seconds) throws Exception {
    return await(client.getLeaseClient().grant(seconds)).getID();
  }

  private static <T> T await(CompletableFuture<T> answer) throws Exception {
    return answer.get(UNCONTENDED_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
  }

  @Override
  public Optional<AutoCloseable> acquire(String name, Duration atMost) throws Exception {
    long lease = pool == null ? grant(client, TTL_SECONDS) : pool.remove();
    ByteSequence lockName = ByteSequence.from("jetcd/" + name, StandardCharsets.UTF_8);
    CompletableFuture<LockResponse> request = client.getLockClient().lock(lockName, lease);
    try {
      ByteSequence key = request.get(atMost.toMillis(), TimeUnit.MILLISECONDS).getKey();
      return Optional.of(() -> release(key, lease));
    } catch (TimeoutException e) {
      // Cancelling the call alone would leave the request in the queue.
      revoke(lease);
      request.cancel(true);
      if (pool != null) {
        pool.add(grant(client, WHOLE_RUN_SECONDS));
      }
      return Optional.empty();
    }
  }

  private void release(ByteSequence key, long lease) throws Exception {
    var unused = await(client.getLockClient().unlock(key));
    if (pool == null) {
      revoke(lease);
    } else {
      pool.add(lease);
    }
  }

  private void revoke(long lease) throws Exception {
    var unused = await(client.getLeaseClient().revoke(lease));
  }

  @Override
  public void close() throws Exception {
    try {
      if (pool != null) {
        for (long lease : pool) {
          revoke(lease);
        }
      }
    } finally {
      client.close();
    }
  }
}
