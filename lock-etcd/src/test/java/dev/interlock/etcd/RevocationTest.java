package dev.interlock.etcd;

import static dev.interlock.etcd.Backends.LONG_TIMEOUT;
import static dev.interlock.etcd.Backends.claim;
import static dev.interlock.etcd.Backends.in;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.QueueingBackend.Place;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.NetworkFault;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.etcd.EtcdServer;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.lease.LeaseTimeToLiveResponse;
import io.etcd.jetcd.options.LeaseOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** A revoked lock excludes everybody until its holder has certainly lost it. */
@Execution(ExecutionMode.CONCURRENT)
class RevocationTest {

  private static final Duration LIMIT = Duration.ofSeconds(60);

  @AutoClose private static EtcdCluster etcd;
  private static EtcdServer server;
  @AutoClose private static Client own;

  @BeforeAll
  static void startServer() {
    etcd = Testbed.etcd().withoutSync().start();
    server = etcd.leader();
    own = Client.builder().endpoints("http://127.0.0.1:" + server.port()).build();
  }

  /** The holder may renew until the revocation takes effect, however late that is. */
  @Test
  void aSlowRevocationLastsForAWholeTtlFromItsEffect() throws Exception {
    try (FaultProxy proxy = FaultProxy.to(server.host(), server.port());
        LockClient holder = LockClient.open(etcd.uri(), LONG_TIMEOUT);
        LockClient operator = LockClient.open("etcd://127.0.0.1:" + proxy.port(), LONG_TIMEOUT)) {
      Lease lease = holder.lock("slow").acquire();
      long session = first("slow").getLease();
      long seenUnrevoked = System.nanoTime();
      try (NetworkFault late = proxy.delay(Direction.SERVER_TO_CLIENT, Duration.ofMillis(1_600))) {
        CompletableFuture<Boolean> revoked =
            CompletableFuture.supplyAsync(() -> operator.admin().revoke("slow"));
        for (long asked = System.nanoTime();
            first("slow").getLease() == session;
            asked = System.nanoTime()) {
          seenUnrevoked = asked;
          TimeUnit.MILLISECONDS.sleep(10);
        }
        assertTrue(revoked.get(LIMIT.toSeconds(), TimeUnit.SECONDS), () -> "with " + late);
      }
      assertKept("slow", seenUnrevoked, lease.effectiveTtl());
    }
  }

  /**
   * The revocation needs no further requests of the operator, and a repetition restarts its time.
   */
  @Test
  void aSlowRevocationWhoseAnswerIsLostLastsAsLong() throws Exception {
    try (FaultProxy proxy = FaultProxy.to(server.host(), server.port());
        LockClient holder = LockClient.open(etcd.uri(), LONG_TIMEOUT);
        LockClient operator = LockClient.open("etcd://127.0.0.1:" + proxy.port(), LONG_TIMEOUT)) {
      Lease lease = holder.lock("unanswered").acquire();
      long session = first("unanswered").getLease();
      long seenUnrevoked = System.nanoTime();
      CompletableFuture<Boolean> revoked;
      try (NetworkFault late = proxy.delay(Direction.SERVER_TO_CLIENT, Duration.ofMillis(1_600));
          NetworkFault lost = proxy.loseReplies("revoked|")) {
        revoked = CompletableFuture.supplyAsync(() -> operator.admin().revoke("unanswered"));
        for (long asked = System.nanoTime();
            first("unanswered").getLease() == session;
            asked = System.nanoTime()) {
          seenUnrevoked = asked;
          TimeUnit.MILLISECONDS.sleep(10);
        }
        assertTrue(lost.awaitHit(LIMIT), () -> "with " + late);
      } // the connection is reset now
      ExecutionException e =
          assertThrows(
              ExecutionException.class, () -> revoked.get(LIMIT.toSeconds(), TimeUnit.SECONDS));
      assertInstanceOf(LockUnavailableException.class, e.getCause());
      assertKept("unanswered", seenUnrevoked, lease.effectiveTtl());

      // An operator who repeats the revocation cannot know when the first one took effect.
      Duration kept = Duration.ofSeconds(leaseOf("unanswered").getGrantedTTL());
      Eventually.holds("time passes", () -> leaseOf("unanswered").getTTL() <= kept.toSeconds() - 2);
      long repeated = System.nanoTime();
      assertTrue(holder.admin().revoke("unanswered"));
      assertKept("unanswered", repeated, kept);
    }
  }

  /**
   * The revocation falls between the read that found the key first and the key's move to its own
   * lease.
   */
  @Test
  void aGrantForATtlDoesNotUndoARevocation() throws Exception {
    try (EtcdBackend backend = Backends.open(etcd.uri(), LIMIT)) {
      Claim claim =
          new Claim("fixed", "id-of-the-fixed-one", LIMIT, false, "host/1/test", System.nanoTime());
      try (Place place = backend.join(claim, in(LIMIT))) {
        assertTrue(backend.revoke("fixed", in(LIMIT)));
        LockUnavailableException e =
            assertThrows(LockUnavailableException.class, () -> place.await(in(LIMIT)));
        assertTrue(e.getMessage().contains("revoked"), e::getMessage);
      }
      assertTrue(first("fixed").getValue().toString(UTF_8).startsWith("revoked|"));
      assertTrue(backend.release(claim, in(LIMIT)));
    }
  }

  private static void assertKept(String name, long since, Duration ttl) throws Exception {
    // etcd shows whole seconds, and the last one may have just begun.
    long remainingSeconds = leaseOf(name).getTTL() + 1;
    long end = System.nanoTime() + Duration.ofSeconds(remainingSeconds).toNanos();
    Duration keptFor = Duration.ofNanos(end - since);
    assertTrue(keptFor.compareTo(ttl) >= 0, () -> "kept for " + keptFor);
  }

  private static LeaseTimeToLiveResponse leaseOf(String name) throws Exception {
    return own.getLeaseClient().timeToLive(first(name).getLease(), LeaseOption.DEFAULT).get();
  }

  @Test
  void aPlaceRevokedBeforeItsGrantWasNoticedIsNotGranted() throws Exception {
    try (EtcdBackend backend = Backends.open(etcd.uri(), LIMIT)) {
      Claim holding = claim("turn");
      Claim waiting = claim("turn");
      try (Place first = backend.join(holding, in(LIMIT));
          Place second = backend.join(waiting, in(LIMIT))) {
        assertInstanceOf(Attempt.Granted.class, first.await(in(LIMIT)));
        assertTrue(backend.release(holding, in(LIMIT)));
        assertTrue(backend.revoke("turn", in(LIMIT)));
        LockUnavailableException e =
            assertThrows(LockUnavailableException.class, () -> second.await(in(LIMIT)));
        assertTrue(e.getMessage().contains("revoked"), e::getMessage);
      }
      assertTrue(backend.release(waiting, in(LIMIT)));
    }
  }

  private static KeyValue first(String name) throws Exception {
    List<KeyValue> line =
        own.getKVClient()
            .get(LockKeys.of("interlock", name).prefix(), QueueOps.oldest(1))
            .get()
            .getKvs();
    return line.get(0);
  }
}
