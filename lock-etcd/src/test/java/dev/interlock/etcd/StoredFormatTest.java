package dev.interlock.etcd;

import static dev.interlock.etcd.Backends.claim;
import static dev.interlock.etcd.Backends.in;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.options.PutOption;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Clients in a namespace that another version has used. */
class StoredFormatTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(20);
  private static final ByteSequence FORMAT = LockKeys.bytes("interlock/format");

  @AutoClose private static EtcdCluster etcd;
  @AutoClose private static Client observer;

  @BeforeAll
  static void startServer() {
    etcd = Testbed.etcd().forFaults().start();
    observer = Client.builder().endpoints("http://127.0.0.1:" + etcd.leader().port()).build();
  }

  @AfterEach
  void removeTheMark() throws Exception {
    observer.getKVClient().delete(FORMAT).get();
  }

  @Test
  void aSessionShowsItsFormat() throws Exception {
    try (EtcdBackend backend = open()) {
      Claim claim = take(backend, "shown");
      assertEquals("1", sessionKey(claim));
    }
  }

  /** Version 0.1 puts such a key. */
  @Test
  void aSessionKeyWithoutAFormatIsUsed() throws Exception {
    try (EtcdBackend backend = open()) {
      Claim claim = take(backend, "unmarked");
      Session session = QueueEntry.of(claim).session();
      PutOption onItsLease = PutOption.builder().withLeaseId(session.lease()).build();
      observer.getKVClient().put(session.key(), ByteSequence.EMPTY, onItsLease).get();
      take(backend, "another");
      assertTrue(backend.release(claim, in(TIMEOUT)));
    }
  }

  @Test
  void anUnknownFormatIsRefusedWhenAClientOpens() throws Exception {
    observer.getKVClient().put(FORMAT, LockKeys.bytes("2")).get();
    assertRefused(assertThrows(LockConfigurationException.class, () -> open().close()));
  }

  @Test
  void anUnknownFormatIsRefusedOnANewSession() throws Exception {
    try (EtcdBackend backend = open()) {
      Claim claim = take(backend, "before");
      observer.getKVClient().put(FORMAT, LockKeys.bytes("2")).get();
      observer.getLeaseClient().revoke(QueueEntry.of(claim).lease()).get();
      assertRefused(
          assertThrows(
              LockConfigurationException.class,
              () -> {
                while (true) { // until it notices that its session has ended
                  backend.tryAcquire(claim("after"), in(TIMEOUT));
                }
              }));
      assertEquals(0, Backends.keys(etcd.leader(), "interlock/lock/"));
      Eventually.holds("its lease is revoked", () -> Backends.leases(etcd.leader()) == 0);
    }
  }

  @Test
  void aDeletedSessionKeyIsNotPutAgainUnderAnUnknownFormat() throws Exception {
    try (EtcdBackend backend = open()) {
      Claim claim = take(backend, "held");
      observer.getKVClient().put(FORMAT, LockKeys.bytes("2")).get();
      observer.getKVClient().delete(QueueEntry.of(claim).session().key()).get();
      assertRefused(
          assertThrows(
              LockConfigurationException.class,
              () -> backend.tryAcquire(claim("next"), in(TIMEOUT))));
      assertEquals(0, Backends.keys(etcd.leader(), "interlock/session/"));
    }
  }

  private static void assertRefused(LockConfigurationException refusal) {
    assertTrue(
        refusal
            .getMessage()
            .contains(
                "locks below interlock/ are stored in a format that this version of Interlock does"
                    + " not know (format 2)"),
        refusal::getMessage);
  }

  private static EtcdBackend open() {
    return Backends.open(etcd.uri(), TIMEOUT);
  }

  private static Claim take(EtcdBackend backend, String name) throws InterruptedException {
    Claim claim = claim(name);
    assertInstanceOf(Attempt.Granted.class, backend.tryAcquire(claim, in(TIMEOUT)));
    return claim;
  }

  private static String sessionKey(Claim claim) throws Exception {
    ByteSequence key = QueueEntry.of(claim).session().key();
    return observer.getKVClient().get(key).get().getKvs().get(0).getValue().toString();
  }
}
