package dev.interlock.etcd;

import static dev.interlock.etcd.Backends.claim;
import static dev.interlock.etcd.Backends.in;
import static java.util.stream.Collectors.toSet;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockState;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Share;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Tests which holder a listing and a busy attempt report. */
class ListingTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(20);

  private static EtcdCluster etcd;
  private static Client observer;
  private static EtcdBackend backend;

  @BeforeAll
  static void startServer() {
    etcd = Testbed.etcd().forFaults().start();
    observer = Client.builder().endpoints("http://127.0.0.1:" + etcd.leader().port()).build();
    backend = Backends.open(etcd.uri(), TIMEOUT);
  }

  @AfterAll
  static void stopServer() {
    backend.close();
    observer.close();
    etcd.close();
  }

  @Test
  void aPageMayEndAnywhereInALocksQueue() throws Exception {
    List<String> names = List.of("cut/a", "cut/a b", "cut/a%2F", "cut/a+/", "cut/über", "cut/\t");
    for (String name : names) {
      LockKeys keys = LockKeys.of("interlock", name);
      put(keys.entry(Share.EXCLUSIVE, 3, 0), "1|holder of " + name);
      put(keys.entry(Share.EXCLUSIVE, 1, 0), "2|second");
      put(keys.entry(Share.EXCLUSIVE, 2, 0), "3|third");
    }
    for (String foreign : List.of("cut%2Fa%zz/1-0", "cut%2fa/1-0", "cut%2F", "cut%2Fz")) {
      put(LockKeys.bytes("interlock/lock/" + foreign), "foreign");
    }
    put(LockKeys.bytes("interlock/lock/cut%2F").concat(ByteSequence.from(new byte[] {-1})), "");
    for (int limit = 1; limit <= 25; limit++) {
      List<LockState> listed = list("cut/", limit);
      assertEquals(
          names.stream().sorted().toList(), listed.stream().map(LockState::name).sorted().toList());
      for (LockState state : listed) {
        assertEquals(
            Optional.of("holder of " + state.name()),
            state.holder().flatMap(LockState.Holder::label));
        assertEquals(
            List.of("second", "third").subList(0, Math.min(2, limit - 1)), state.waiters());
      }
      assertEquals(
          List.of("cut/a+/"), list("cut/a+", limit).stream().map(LockState::name).toList());
    }
  }

  @Test
  void aNameWithMoreHoldersThanFitOnAPageIsListedWithAllOfThem() throws Exception {
    Set<Long> tokens = new HashSet<>();
    for (int i = 0; i < 7; i++) {
      Attempt attempt = backend.tryAcquire(claim("many", Share.ofSemaphore(1, 8)), in(TIMEOUT));
      tokens.add(assertInstanceOf(Attempt.Granted.class, attempt).grant().token());
    }
    Claim waiting = claim("many", Share.ofSemaphore(2, 8));
    try (QueueingBackend.Place place = backend.join(waiting, in(TIMEOUT))) {
      assertTrue(place.hasPredecessor());
      for (int limit = 1; limit <= 9; limit++) {
        List<LockState> listed = list("many", limit);
        assertEquals(1, listed.size());
        assertEquals(
            tokens,
            listed.get(0).holders().stream()
                .map(holder -> holder.fencingToken().orElseThrow())
                .collect(toSet()));
      }
    }
  }

  private static void put(ByteSequence key, String value) throws Exception {
    observer.getKVClient().put(key, LockKeys.bytes(value)).get();
  }

  private static List<LockState> list(String prefix, int limit) throws InterruptedException {
    List<LockState> listed = new ArrayList<>();
    String cursor = null;
    do {
      LockPage page = backend.list(prefix, cursor, limit, in(TIMEOUT));
      listed.addAll(page.locks());
      cursor = page.next();
    } while (cursor != null);
    return listed;
  }

  @Test
  void anAttemptNamesTheHolderIfNoOtherClientIsInTheQueue() throws Exception {
    Claim claim = claim("busy");
    assertInstanceOf(Attempt.Granted.class, backend.tryAcquire(claim, in(TIMEOUT)));
    assertEquals(claim.label(), holder(backend.tryAcquire(claim("busy"), in(TIMEOUT))));
    try (QueueingBackend.Place second = backend.join(claim("busy"), in(TIMEOUT))) {
      assertEquals(claim.label(), holder(second.await(in(Duration.ofMillis(1)))));
      assertNull(holder(backend.tryAcquire(claim("busy"), in(TIMEOUT))));
      try (QueueingBackend.Place third = backend.join(claim("busy"), in(TIMEOUT))) {
        assertNull(holder(third.await(in(Duration.ofMillis(1)))));
      }
    }
  }

  private static @Nullable String holder(Attempt attempt) {
    return assertInstanceOf(Attempt.Busy.class, attempt).holder();
  }
}
