package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.QueueingBackend.Place;
import dev.interlock.tck.sample.SomeTests;
import dev.interlock.testbed.Eventually;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.zookeeper.AsyncCallback.Children2Callback;
import org.apache.zookeeper.AsyncCallback.DataCallback;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The costs of waiting, the order of service, and the nodes and watches that remain. */
class WaitersTest {
  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();

  private static final Duration TTL = Duration.ofMinutes(2);

  @AutoClose private static ZooKeeperEnsemble server;
  @AutoClose private static CuratorFramework observer;

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private ZooKeeperBackend backend;

  @BeforeAll
  static void start() {
    server =
        Testbed.zookeeper()
            .withoutSync()
            .tick(Backends.TICK)
            .jvmFlags("-Dznode.container.checkIntervalMs=500")
            .jvmFlags("-Dznode.container.maxPerMinute=1000000")
            .start();
    observer = Backends.curator(server.connectString());
  }

  @BeforeEach
  void connect() {
    backend = Backends.open(Backends.uri(server));
  }

  @AfterEach
  void disconnect() {
    threads.shutdownNow();
    backend.close();
  }

  private static long statistic(String name) throws Exception {
    return server
        .members()
        .get(0)
        .ask("mntr")
        .lines()
        .filter(line -> line.startsWith(name + "\t"))
        .map(line -> line.substring(name.length() + 1))
        .mapToLong(Long::parseLong)
        .findFirst()
        .orElseThrow();
  }

  private static long watches() throws Exception {
    return server
        .members()
        .get(0)
        .ask("wchp")
        .lines()
        .filter(line -> line.startsWith("/interlock/"))
        .count();
  }

  @Test
  void manyWaitersCostFewWatchesAndOneWakeUpPerRelease() throws Exception {
    int waiters = 50;
    Grant first = Backends.take(backend, Backends.claim("crowd"));
    List<Claim> claims = new ArrayList<>();
    List<CompletableFuture<Grant>> grants = new ArrayList<>();
    for (int i = 0; i < waiters; i++) {
      Claim claim = Backends.claim("crowd");
      claims.add(claim);
      Place place = backend.join(claim, Backends.soon());
      CompletableFuture<Grant> grant = new CompletableFuture<>();
      grants.add(grant);
      threads.execute(
          () -> {
            try (place) {
              grant.complete(Backends.granted(place.await(Deadline.in(Backends.TIME, TTL))));
            } catch (Throwable e) {
              grant.completeExceptionally(e);
            }
          });
    }
    // The first four watch all nodes ahead of them, and the others the fourth ahead, so the last
    // three are not watched. Their session watches each node once.
    int watched = waiters - 3;
    Eventually.holds("all watch", () -> watches() == watched);

    Claim holder = first.claim();
    long token = first.token();
    for (int i = 0; i < 5; i++) {
      // Pings and the reads of the statistics are counted as well, but there is no herd.
      long before = statistic("zk_packets_received");
      assertTrue(backend.release(holder, Backends.soon()));
      Grant next = grants.get(i).get(60, TimeUnit.SECONDS);
      long packets = statistic("zk_packets_received") - before;
      assertTrue(packets < 20, () -> "a release cost " + packets + " packets");
      int remaining = watched - i - 1;
      Eventually.holds("one watch less", () -> watches() == remaining);
      assertEquals(1, grants.stream().skip(i).filter(CompletableFuture::isDone).count());
      assertTrue(next.token() > token);
      holder = next.claim();
      token = next.token();
    }
    for (Claim claim : claims) {
      backend.release(claim, Backends.soon());
    }
  }

  /** Counts the requests of the waiters for one lock, once they have been sent. */
  private static final class CountedReads {
    private final AtomicInteger listings = new AtomicInteger();
    private final AtomicInteger reads = new AtomicInteger();

    /** A framework whose driver counts. */
    CuratorFramework at(String lockPath) {
      CuratorFramework curator =
          CuratorFrameworkFactory.builder()
              .connectString(server.connectString())
              .retryPolicy((retries, elapsed, sleeper) -> false)
              .zookeeperFactory(
                  (servers, timeout, watcher, readOnly) ->
                      driver(servers, timeout, watcher, lockPath))
              .build();
      curator.start();
      return curator;
    }

    private ZooKeeper driver(String servers, int timeout, Watcher watcher, String lockPath)
        throws IOException {
      // The methods that take no watcher call these.
      return new ZooKeeper(servers, timeout, watcher, Backends.withoutSasl()) {
        @Override
        public void getChildren(
            String path, @Nullable Watcher own, Children2Callback callback, Object context) {
          super.getChildren(path, own, callback, context);
          if (path.equals(lockPath)) {
            listings.incrementAndGet();
          }
        }

        @Override
        public void getData(
            String path, @Nullable Watcher own, DataCallback callback, Object context) {
          super.getData(path, own, callback, context);
          if (path.startsWith(lockPath + "/")) {
            reads.incrementAndGet();
          }
        }
      };
    }
  }

  @Test
  void onlyOneWaiterListsTheQueueWhenAnotherLeaves() throws Exception {
    CountedReads counts = new CountedReads();
    try (CuratorFramework curator = counts.at("/interlock/leavers");
        ZooKeeperBackend counted = Backends.on(curator)) {
      Grant grant = Backends.take(counted, Backends.claim("leavers"));
      List<Claim> claims = new ArrayList<>();
      List<Place> places = new ArrayList<>();
      List<Future<Attempt>> waiting = new ArrayList<>();
      int count = 20;
      for (int i = 0; i < count; i++) {
        Claim claim = Backends.claim("leavers");
        Place place = counted.join(claim, Backends.soon());
        claims.add(claim);
        places.add(place);
        waiting.add(threads.submit(() -> place.await(Deadline.in(Backends.TIME, TTL))));
      }
      // Up to four nodes each for the first four, and one for each of the others.
      int watched = 1 + 2 + 3 + 4 + (count - 4);
      Eventually.holds("all watch", () -> counts.reads.get() == watched);
      counts.listings.set(0);
      counts.reads.set(0);

      // These are so far apart that only one waiter watches each of them.
      int remaining = 0;
      for (int leaver : new int[] {15, 10, 5}) {
        places.remove(leaver).close();
        var unused = waiting.remove(leaver);
        assertTrue(counted.release(claims.remove(leaver), Backends.soon()));
        remaining++;
        int minReads = remaining;
        Eventually.holds("another node is watched", () -> counts.reads.get() >= minReads);
      }
      assertEquals(remaining, counts.listings.get());
      assertEquals(remaining, counts.reads.get());

      // A waiter lists once more when it has become the fourth, so late listings of others would be
      // too many.
      assertTrue(counted.release(grant.claim(), Backends.soon()));
      for (int i = 0; i < claims.size(); i++) {
        Backends.granted(waiting.get(i).get(60, TimeUnit.SECONDS));
        places.get(i).close();
        assertTrue(counted.release(claims.get(i), Backends.soon()));
      }
      int listings = counts.listings.get();
      assertTrue(
          listings <= remaining + claims.size(), () -> "there were " + listings + " listings");
    }
  }

  @Test
  void aWaiterThatLeavesEndsItsWatch() throws Exception {
    Grant grant = Backends.take(backend, Backends.claim("left"));
    Claim claim = Backends.claim("left");
    try (Place place = backend.join(claim, Backends.soon())) {
      Future<Attempt> waiting = threads.submit(() -> place.await(Deadline.in(Backends.TIME, TTL)));
      Eventually.holds("it watches", () -> watches() == 1);
      place.close();
      Exception e = assertThrows(Exception.class, () -> waiting.get(60, TimeUnit.SECONDS));
      assertInstanceOf(LockUnavailableException.class, e.getCause());
    }
    Eventually.holds("no watch", () -> watches() == 0);
    assertTrue(backend.release(claim, Backends.soon()));
    assertTrue(backend.release(grant.claim(), Backends.soon()));
  }

  @Test
  void aWaiterWhoseNodeWasDeletedDoesNotBecomeTheHolder() throws Exception {
    Grant grant = Backends.take(backend, Backends.claim("kicked"));
    Claim claim = Backends.claim("kicked");
    try (Place place = backend.join(claim, Backends.soon())) {
      // The waiter is behind five, so that it lists the queue when the fourth ahead is gone.
      List<Claim> between = new ArrayList<>();
      List<Place> unused = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        between.add(Backends.claim("kicked"));
        unused.add(backend.join(between.get(i), Backends.soon()));
      }
      Claim last = Backends.claim("kicked");
      try (Place behind = backend.join(last, Backends.soon())) {
        Future<Attempt> waiting =
            threads.submit(() -> behind.await(Deadline.in(Backends.TIME, TTL)));
        Eventually.holds("it watches", () -> watches() == 1);
        observer.delete().forPath(((QueueNode) last.attachment()).path());
        assertTrue(backend.release(claim, Backends.soon()));
        Exception e = assertThrows(Exception.class, () -> waiting.get(60, TimeUnit.SECONDS));
        assertInstanceOf(LockUnavailableException.class, e.getCause());
      }
      unused.forEach(Place::close);
      for (Claim each : between) {
        backend.release(each, Backends.soon());
      }
    }
    backend.release(claim, Backends.soon());
    backend.release(grant.claim(), Backends.soon());
  }

  @Test
  void theQueueIsShownInItsOrder() throws Exception {
    Claim first = Backends.claim("shown", "ann");
    Grant grant = Backends.take(backend, first);
    List<Claim> claims = new ArrayList<>();
    for (String holder : List.of("bob", "cid", "dée \u1f512")) {
      Claim claim = Backends.claim("shown", holder);
      backend.join(claim, Backends.soon()).close();
      claims.add(claim);
    }
    LockState state = backend.inspect("shown", Backends.soon());
    assertEquals("ann", state.holder().flatMap(LockState.Holder::label).orElseThrow());
    assertEquals(grant.token(), state.fencingToken().orElseThrow());
    assertEquals(List.of("bob", "cid", "dée \u1f512"), state.waiters());
    backend.release(claims.get(1), Backends.soon());
    backend.release(first, Backends.soon());
    state = backend.inspect("shown", Backends.soon());
    assertEquals("bob", state.holder().flatMap(LockState.Holder::label).orElseThrow());
    assertEquals(List.of("dée \u1f512"), state.waiters());
    backend.release(claims.get(0), Backends.soon());
    backend.release(claims.get(2), Backends.soon());
  }

  @Test
  void aWaiterThatTimesOutNamesTheHolderIfItIsNext() throws Exception {
    Claim claim = Backends.claim("named", "ann");
    Backends.take(backend, claim);
    Claim next = Backends.claim("named", "bob");
    Claim last = Backends.claim("named", "cid");
    try (Place second = backend.join(next, Backends.soon());
        Place third = backend.join(last, Backends.soon())) {
      Eventually.holds("it names the holder", () -> "ann".equals(holderAfterWaiting(second)));
      assertNull(holderAfterWaiting(third));
      backend.release(next, Backends.soon());
      Eventually.holds("it is next", () -> "ann".equals(holderAfterWaiting(third)));
    }
    backend.release(last, Backends.soon());
    backend.release(claim, Backends.soon());
  }

  private static @Nullable String holderAfterWaiting(Place place) throws InterruptedException {
    Deadline deadline = Deadline.in(Backends.TIME, Duration.ofMillis(300));
    return ((Attempt.Busy) place.await(deadline)).holder();
  }

  @Test
  void anAttemptOnABusyLockCreatesNoNode() throws Exception {
    Grant grant = Backends.take(backend, Backends.claim("busy"));
    int made = observer.checkExists().forPath("/interlock/busy").getCversion();
    for (int i = 0; i < 10; i++) {
      assertInstanceOf(
          Attempt.Busy.class, backend.tryAcquire(Backends.claim("busy"), Backends.soon()));
    }
    assertEquals(made, observer.checkExists().forPath("/interlock/busy").getCversion());
    backend.release(grant.claim(), Backends.soon());
  }

  @Test
  void unusedNamesLeaveNoNode() throws Exception {
    int names = 200;
    AtomicInteger next = new AtomicInteger();
    List<Future<?>> users = new ArrayList<>();
    for (int t = 0; t < 16; t++) {
      users.add(
          threads.submit(
              () -> {
                for (int i = next.getAndIncrement(); i < names; i = next.getAndIncrement()) {
                  Claim claim = Backends.claim("many-" + i);
                  Place place = backend.join(claim, Backends.soon());
                  Backends.granted(place.await(Backends.soon()));
                  place.close();
                  backend.release(claim, Backends.soon());
                }
                return null;
              }));
    }
    for (Future<?> user : users) {
      user.get();
    }
    Eventually.holds(
        "the servers have cleaned up", () -> observer.checkExists().forPath("/interlock") == null);
  }
}
