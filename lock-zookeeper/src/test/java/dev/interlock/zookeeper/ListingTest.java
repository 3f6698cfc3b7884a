package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockState;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.QueueingBackend.Place;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests which locks a listing shows, page by page, and their {@code heldSince}. */
class ListingTest {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  @AutoClose private static ZooKeeperEnsemble server;
  @AutoClose private static CuratorFramework observer;
  private static int namespaces;

  private String namespace;
  @AutoClose private ZooKeeperBackend backend;

  @BeforeAll
  static void start() {
    server = Backends.server();
    observer = Backends.curator(server.connectString());
  }

  @BeforeEach
  void connect() {
    namespace = "list-" + ++namespaces;
    backend = Backends.open(Backends.uri(server) + "&namespace=" + namespace);
  }

  private Claim take(String name) throws InterruptedException {
    Claim claim = Backends.claim(name);
    Backends.take(backend, claim);
    return claim;
  }

  private static List<String> names(LockPage page) {
    return page.locks().stream().map(LockState::name).toList();
  }

  @Test
  void beforeTheFirstLockNothingIsListed() throws Exception {
    assertEquals(new LockPage(List.of(), null), backend.list("", null, 10, Backends.soon()));
  }

  @Test
  void onlyHeldLocksAreListed() throws Exception {
    take("job/é 100%");
    Claim freed = take("job/freed");
    backend.release(freed, Backends.soon());
    take("job/foreign");
    observer.create().forPath("/" + namespace + "/job%2Fforeign/config");
    observer.create().forPath("/" + namespace + "/job%2fnotaname");
    observer.create().forPath("/" + namespace + "/job%2Fempty");
    LockPage page = backend.list("job/", null, 100, Backends.soon());
    assertEquals(List.of("job/é 100%"), names(page));
    assertNull(page.next());
    assertEquals(List.of(), names(backend.list("Job", null, 100, Backends.soon())));
  }

  /** The names come in one reply, of which ZooKeeper's driver accepts 1 MiB by default. */
  @Test
  @Tag("extended")
  void namesOfMoreThanOneMebibyteAreListed() throws Exception {
    take("held");
    int count = 5_000;
    CountDownLatch created = new CountDownLatch(count);
    for (int i = 0; i < count; i++) {
      observer
          .create()
          .inBackground((client, event) -> created.countDown())
          .forPath("/" + namespace + "/" + "n".repeat(240) + i);
    }
    created.await();
    assertTrue(observer.checkExists().forPath("/" + namespace).getNumChildren() > count);
    LockPage page = backend.list("h", null, 10, Backends.soon());
    assertEquals(List.of("held"), names(page));
    assertNull(page.next());
  }

  /**
   * The client loses the right to read a lock's node or the holder's, as if another user had
   * created it.
   */
  @Test
  void aLockThatMayNotBeReadHidesNoOtherAndIsReportedLast() throws Exception {
    take("a");
    take("b");
    take("c");
    take("d");
    deny("/b");
    Claim unnamed = take("e");
    deny(((QueueNode) unnamed.attachment()).path().substring(namespace.length() + 1));
    for (int limit = 1; limit <= 6; limit++) {
      List<LockState> listed = new ArrayList<>();
      int size = limit;
      LockConfigurationException refusal =
          assertThrows(LockConfigurationException.class, () -> readAll(size, listed));
      assertEquals(List.of("a", "c", "d", "e"), listed.stream().map(LockState::name).toList());
      assertEquals(Optional.empty(), listed.get(3).holder().flatMap(LockState.Holder::label));
      assertTrue(refusal.getMessage().contains("lock \"b\""), refusal::getMessage);
    }
  }

  private void readAll(int limit, List<LockState> listed) throws InterruptedException {
    @Nullable String cursor = null;
    do {
      LockPage page = backend.list("", cursor, limit, Backends.soon());
      listed.addAll(page.locks());
      cursor = page.next();
    } while (cursor != null);
  }

  private void deny(String path) throws Exception {
    List<ACL> ofAnother = List.of(new ACL(Perms.ALL, new Id("ip", "192.0.2.1")));
    observer.setACL().withACL(ofAnother).forPath("/" + namespace + path);
  }

  @Test
  void changingLocksHideNoLockThatIsHeldThroughout() throws Exception {
    List<String> lasting = List.of("b", "d", "f", "h", "j");
    for (String name : lasting) {
      take(name);
    }
    Claim last = take("e");
    List<String> listed = new ArrayList<>();
    @Nullable String cursor = null;
    int pages = 0;
    do {
      LockPage page = backend.list("", cursor, 2, Backends.soon());
      listed.addAll(names(page));
      cursor = page.next();
      // A listed lock disappears, and another appears behind the cursor.
      backend.release(last, Backends.soon());
      last = take("a" + ++pages);
    } while (cursor != null);
    listed.removeIf(name -> !lasting.contains(name));
    assertEquals(lasting, listed);
  }

  @Test
  void aLockThatPassesFromOneClientToTheNextIsListed() throws Exception {
    AtomicBoolean enough = new AtomicBoolean();
    Claim first = take("passed");
    CompletableFuture<Void> passing =
        CompletableFuture.runAsync(
            () -> {
              try (ZooKeeperBackend others =
                  Backends.open(Backends.uri(server) + "&namespace=" + namespace)) {
                Claim holder = Backends.claim("passed");
                others.join(holder, Backends.soon()).close();
                backend.release(first, Backends.soon());
                while (!enough.get()) {
                  Claim next = Backends.claim("passed");
                  others.join(next, Backends.soon()).close();
                  others.release(holder, Backends.soon());
                  holder = next;
                }
              } catch (InterruptedException e) {
                throw new IllegalStateException(e);
              }
            });
    try {
      for (int i = 0; i < 300; i++) {
        assertEquals(
            List.of("passed"), names(backend.list("passed", null, 10, Backends.soon())), "at " + i);
      }
    } finally {
      enough.set(true);
      passing.join();
    }
  }

  @Test
  void heldSinceIsKnownUntilAnotherClientJoins() throws Exception {
    Claim before = take("since");
    Claim claim = Backends.claim("since");
    backend.release(before, Backends.soon());
    Grant grant = Backends.take(backend, claim);
    QueueNode node = (QueueNode) claim.attachment();
    Instant made = Instant.ofEpochMilli(observer.checkExists().forPath(node.path()).getCtime());
    assertSince(Optional.of(made));
    backend.renew(grant, Backends.soon());
    assertSince(Optional.of(made));

    Claim next = Backends.claim("since");
    try (Place place = backend.join(next, Backends.soon())) {
      assertSince(Optional.empty());
      assertTrue(backend.release(claim, Backends.soon()));
      Backends.granted(place.await(Backends.soon()));
      assertSince(Optional.empty());
    }
  }

  private void assertSince(Optional<Instant> expected) throws InterruptedException {
    LockState inspected = backend.inspect("since", Backends.soon());
    assertEquals(expected, inspected.heldSince());
    LockState listed = backend.list("since", null, 1, Backends.soon()).locks().get(0);
    assertEquals(expected, listed.heldSince());
    assertEquals(inspected.fencingToken(), listed.fencingToken());
    assertEquals(
        inspected.holder().flatMap(LockState.Holder::label),
        listed.holder().flatMap(LockState.Holder::label));
  }
}
