package dev.interlock.peers;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.run.NotOfferedException;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.lease.LeaseGrantResponse;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.etcd.jetcd.lock.LockResponse;
import io.etcd.jetcd.support.CloseableClient;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Adapts jetcd's {@code Lock}. Each acquisition has an etcd lease of its own, because two
 * acquisitions on one lease do not exclude each other. A wait that times out revokes the lease,
 * because cancelling the future alone leaves the request in the queue of etcd.
 */
record JetcdPeer(Client client) implements Peer {
  /** The time-out of an attempt: jetcd offers only waits. */
  private static final Duration ATTEMPT_TIMEOUT = Duration.ofSeconds(2);

  private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(10);

  private static <T> T await(CompletableFuture<T> response) throws Exception {
    return response.get(REQUEST_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
  }

  @Override
  public @Nullable Hold acquire(String name, Terms terms, @Nullable Duration atMost)
      throws Exception {
    long seconds = Math.max(1, (terms.ttl().toMillis() + 999) / 1_000);
    long requestedAt = System.nanoTime();
    LeaseGrantResponse lease = await(client.getLeaseClient().grant(seconds));
    CompletableFuture<String> lost = new CompletableFuture<>();
    @Nullable CloseableClient renewal =
        terms.renewed()
            ? client.getLeaseClient().keepAlive(lease.getID(), new Renewals(lost))
            : null;
    CompletableFuture<LockResponse> request =
        client.getLockClient().lock(ByteSequence.from(name, UTF_8), lease.getID());
    boolean granted = false;
    try {
      LockResponse response =
          atMost == null
              ? request.get()
              : request.get(
                  (atMost.isZero() ? ATTEMPT_TIMEOUT : atMost).toMillis(), TimeUnit.MILLISECONDS);
      granted = true;
      LeaseTime time = new LeaseTime(Duration.ofSeconds(lease.getTTL()), requestedAt);
      return hold(response.getKey(), lease.getID(), time, renewal, lost);
    } catch (TimeoutException e) {
      return null;
    } finally {
      if (!granted) {
        revoke(lease.getID(), renewal);
        boolean unused = request.cancel(true);
      }
    }
  }

  private void revoke(long lease, @Nullable CloseableClient renewal) {
    if (renewal != null) {
      renewal.close();
    }
    var unused = client.getLeaseClient().revoke(lease);
  }

  @Override
  public void close() {
    client.close();
  }

  /** Reports the loss of the lease when the stream of renewals ends. */
  private record Renewals(CompletableFuture<String> lost)
      implements StreamObserver<LeaseKeepAliveResponse> {
    @Override
    public void onNext(LeaseKeepAliveResponse response) {}

    @Override
    public void onError(Throwable thrown) {
      lost.complete("the renewals have ended: " + thrown);
    }

    @Override
    public void onCompleted() {
      lost.complete("the renewals have ended");
    }
  }

  private Hold hold(
      ByteSequence key,
      long lease,
      LeaseTime time,
      @Nullable CloseableClient renewal,
      CompletableFuture<String> lost) {
    return new Hold(time, renewal != null) {
      @Override
      boolean isHeld() throws Exception {
        return !lost.isDone() && super.isHeld();
      }

      @Override
      CompletableFuture<String> onLoss() {
        return isRenewed() ? lost : super.onLoss();
      }

      @Override
      void renew() throws Exception {
        if (!isRenewed()) {
          throw new NotOfferedException("renewal by the program of a lock with a fixed lease time");
        }
        try {
          var unused = await(client.getLeaseClient().keepAliveOnce(lease));
        } catch (ExecutionException e) {
          throw new IllegalStateException(e);
        }
      }

      @Override
      ReleaseOutcome unlock() throws Exception {
        try {
          var unused = await(client.getLockClient().unlock(key));
        } finally {
          revoke(lease, renewal);
        }
        return ReleaseOutcome.UNKNOWN; // unlock does not tell whether the key still existed
      }
    };
  }
}
