package dev.interlock.compare;

import dev.interlock.compare.baseline.Pairs;
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
 * jetcd's own lock. It is exclusive between acquisitions on different leases: either on those of a
 * pool, which has one for each thread, or on one that is granted for the acquisition. Leases
 * outlast the measurement and are not renewed.
 *
 * @param pool leases that are free; null if each acquisition is granted one
 */
record JetcdLock(Client client, @Nullable Queue<Long> pool) implements Locking {
  private static final long TTL_SECONDS = 60;
  private static final long WHOLE_RUN_SECONDS = 3600;

  /** With as many leases as there are threads, which are used again. */
  static Competitor<Pairs> onPooledLeases() {
    return new Competitor<>("jetcd Lock, pooled leases", JetcdLock::open);
  }

  static Competitor<Locking> onLeaseEach() {
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
    return answer.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
  }

  @Override
  public Optional<AutoCloseable> acquire(String name, Duration atMost) throws Exception {
    long lease = pool == null ? grant(client, TTL_SECONDS) : pool.remove();
    ByteSequence key = ByteSequence.from("jetcd/" + name, StandardCharsets.UTF_8);
    CompletableFuture<LockResponse> asked = client.getLockClient().lock(key, lease);
    try {
      ByteSequence held = asked.get(atMost.toMillis(), TimeUnit.MILLISECONDS).getKey();
      return Optional.of(() -> release(held, lease));
    } catch (TimeoutException e) {
      // Cancelling the call would not give up the place in the queue.
      revoke(lease);
      asked.cancel(true);
      if (pool != null) {
        pool.add(grant(client, WHOLE_RUN_SECONDS));
      }
      return Optional.empty();
    }
  }

  private void release(ByteSequence held, long lease) throws Exception {
    var unused = await(client.getLockClient().unlock(held));
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
