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
 * jetcd's {@code Lock}. Each acquisition has an etcd lease of its own: two acquisitions on one
 * lease are one holder to etcd. A wait is given up by revoking the lease, since cancelling the
 * future leaves the request in etcd's queue.
 */
record JetcdPeer(Client client) implements Peer {
  /** An attempt has no counterpart: it is a wait that is given up after this time. */
  private static final Duration ATTEMPT = Duration.ofSeconds(2);

  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private static <T> T await(CompletableFuture<T> answer) throws Exception {
    return answer.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
  }

  @Override
  public @Nullable Hold acquire(String name, Terms terms, @Nullable Duration atMost)
      throws Exception {
    long seconds = Math.max(1, (terms.ttl().toMillis() + 999) / 1_000);
    long askedAt = System.nanoTime();
    LeaseGrantResponse lease = await(client.getLeaseClient().grant(seconds));
    CompletableFuture<String> lost = new CompletableFuture<>();
    @Nullable CloseableClient renewal =
        terms.renewed()
            ? client.getLeaseClient().keepAlive(lease.getID(), new Renewals(lost))
            : null;
    CompletableFuture<LockResponse> asked =
        client.getLockClient().lock(ByteSequence.from(name, UTF_8), lease.getID());
    boolean held = false;
    try {
      LockResponse answer =
          atMost == null
              ? asked.get()
              : asked.get((atMost.isZero() ? ATTEMPT : atMost).toMillis(), TimeUnit.MILLISECONDS);
      held = true;
      LeaseTime time = new LeaseTime(Duration.ofSeconds(lease.getTTL()), askedAt);
      return hold(answer.getKey(), lease.getID(), time, renewal, lost);
    } catch (TimeoutException e) {
      return null;
    } finally {
      if (!held) {
        leave(lease.getID(), renewal);
        boolean unused = asked.cancel(true);
      }
    }
  }

  private void leave(long lease, @Nullable CloseableClient renewal) {
    if (renewal != null) {
      renewal.close();
    }
    var unused = client.getLeaseClient().revoke(lease);
  }

  @Override
  public void close() {
    client.close();
  }

  /** Learns from the stream of renewals that the lease is gone. */
  private record Renewals(CompletableFuture<String> lost)
      implements StreamObserver<LeaseKeepAliveResponse> {
    @Override
    public void onNext(LeaseKeepAliveResponse answer) {}

    @Override
    public void onError(Throwable thrown) {
      lost.complete("the renewals have ended: " + thrown);
    }

    @Override
    public void onCompleted() {
      lost.complete("the renewals have ended");
    }
  }

  /** A lock that is held as long as its key exists. */
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
          throw new NotOfferedException("renewal by the program that moves a fixed end");
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
          leave(lease, renewal);
        }
        return ReleaseOutcome.UNKNOWN; // it returns in the same way if the key was gone
      }
    };
  }
}
