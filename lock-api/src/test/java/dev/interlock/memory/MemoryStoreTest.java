package dev.interlock.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockEvent;
import dev.interlock.LockOptions;
import dev.interlock.LockState;
import dev.interlock.LossReason;
import dev.interlock.spi.Claim;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class MemoryStoreTest {

  private static final LockOptions FIXED =
      LockOptions.builder().ttl(Duration.ofMillis(200)).autoRenew(false).build();

  private static void awaitWaiters(LockClient client, int count) {
    while (client.admin().inspect("a").waiters().size() < count) {
      Thread.onSpinWait();
    }
  }

  private record Clock(AtomicLong now) implements TimeSource {
    @Override
    public long nanoTime() {
      return now.get();
    }

    @Override
    public long wallMillis() {
      return 0;
    }

    @Override
    public void parkUntil(Object blocker, long untilNanos) {
      throw new UnsupportedOperationException();
    }
  }

  private static void acquire(MemoryStore store, String name, Clock clock) {
    Claim claim = new Claim(name, "id of " + name, FIXED.ttl(), false, "test", clock.nanoTime());
    store.tryAcquire(new Place(claim, clock), clock.nanoTime());
  }

  private static final class Place extends MemoryStore.Place {
    private final TimeSource time;

    Place(Claim claim, TimeSource time) {
      super(claim);
      this.time = time;
    }

    @Override
    TimeSource time() {
      return time;
    }

    @Override
    void reportLoss(LossReason reason, String detail) {}
  }

  @Test
  void expiredEntriesOfNamesThatAreNotRequestedAgainAreRemoved() {
    MemoryStore store = MemoryStore.open("forgetful");
    try {
      Clock clock = new Clock(new AtomicLong());
      for (int i = 0; i < 10_000; i++) {
        acquire(store, "name " + i, clock);
        // At most ten of them have not expired.
        clock.now.addAndGet(FIXED.ttl().toNanos() / 10);
      }
      assertTrue(store.size() < 100, () -> store.size() + " entries");
    } finally {
      store.close();
    }
  }

  @Test
  void theClockOfAClientDoesNotEndHoldsOfOtherClients() {
    MemoryStore store = MemoryStore.open("two clocks");
    try {
      acquire(store, "a", new Clock(new AtomicLong()));
      Clock ahead = new Clock(new AtomicLong(Duration.ofHours(1).toNanos()));
      for (int i = 0; i < 1_000; i++) {
        acquire(store, "name " + i, ahead);
      }
      assertTrue(store.inspect("a", 0).isHeld());
    } finally {
      store.close();
    }
  }

  @Test
  void aListingContinuesAfterTheLastNameOfThePreviousPage() {
    MemoryStore store = MemoryStore.open("listed");
    try {
      for (String name : List.of("a1", "b", "a3", "a2", "a")) {
        store.tryAcquire(
            new Place(
                new Claim(name, "id of " + name, FIXED.ttl(), false, "test", System.nanoTime()),
                TimeSource.system()),
            0);
      }
      LockPage first = store.list("a", null, 2, 0);
      assertEquals(List.of("a", "a1"), names(first));
      LockPage second = store.list("a", first.next(), 2, 0);
      assertEquals(List.of("a2", "a3"), names(second));
      assertNull(second.next());
      assertEquals(List.of(), names(store.list("", null, 9, FIXED.ttl().toNanos())));
    } finally {
      store.close();
    }
  }

  private static List<String> names(LockPage page) {
    return page.locks().stream().map(LockState::name).toList();
  }

  @Test
  void aListingRequestsOnlyThePagesThatAreConsumed() throws Exception {
    try (LockClient client = LockClient.open("memory:lazily-listed")) {
      Instant before = Instant.ofEpochMilli(System.currentTimeMillis());
      try (Lease a = client.lock("a").acquire()) {
        Stream<LockState> listing = client.admin().list("");
        try (Lease b = client.lock("b").acquire()) {
          List<LockState> listed = listing.toList();
          assertEquals(List.of("a", "b"), listed.stream().map(LockState::name).toList());
          assertEquals(a.fencingToken(), listed.get(0).fencingToken().orElseThrow());
          assertTrue(b.isHeld());
          Instant since = listed.get(1).heldSince().orElseThrow();
          assertFalse(since.isBefore(before), () -> since + " is before " + before);
        }
      }
      assertThrows(IllegalArgumentException.class, () -> client.admin().list("\ud800"));
    }
  }

  /**
   * Readers that share a grant renew it independently, and a thread may pause before its renewal.
   */
  @Test
  void aLateRenewalDoesNotShortenANewerOne() {
    MemoryStore store = MemoryStore.open("late");
    try {
      Claim reader =
          new Claim("a", "reader", FIXED.ttl(), true, "test", 0, Share.READ, Duration.ZERO);
      long ttl = FIXED.ttl().toNanos();
      store.tryAcquire(new Place(reader, TimeSource.system()), 0);
      assertTrue(store.renew(reader, ttl / 2));
      assertTrue(store.renew(reader, 1));
      assertTrue(store.inspect("a", ttl / 2 + ttl - 1).isHeld());
      assertFalse(store.inspect("a", ttl / 2 + ttl).isHeld());
    } finally {
      store.close();
    }
  }

  @Test
  void aForcedReleaseReportsTheLossAtOnce() throws Exception {
    try (LockClient one = LockClient.open("memory:forced");
        LockClient two = LockClient.open("memory:forced")) {
      BlockingQueue<LockEvent> events = new LinkedBlockingQueue<>();
      Lease lease = one.lock("a").acquire();
      lease.onEvent(events::add);
      assertTrue(two.admin().forceRelease("a"));
      LockEvent event = events.poll(30, TimeUnit.SECONDS);
      assertTrue(event instanceof LockEvent.Lost, () -> "" + event);
      assertEquals(LossReason.TAKEN, lease.onLoss().get(30, TimeUnit.SECONDS).reason());
      assertFalse(two.admin().forceRelease("a"));
    }
  }

  @Test
  void tokensGoOnIncreasingWhenTheStoreIsClosedAndOpenedAgain() throws Exception {
    long before;
    try (LockClient client = LockClient.open("memory:again");
        Lease lease = client.lock("a").acquire()) {
      before = lease.fencingToken();
    }
    try (LockClient client = LockClient.open("memory:again");
        Lease lease = client.lock("a").acquire()) {
      assertTrue(lease.fencingToken() > before);
    }
  }

  @Test
  void closingAClientThatWaitsLeavesTheQueue() throws Exception {
    try (LockClient holder = LockClient.open("memory:leave");
        Lease lease = holder.lock("a").acquire()) {
      LockClient waiting = LockClient.open("memory:leave?requestTimeout=30s");
      CompletableFuture<Lease> waiter = waiting.lock("a").acquireAsync();
      awaitWaiters(holder, 1);
      waiting.close();
      assertEquals(List.of(), holder.admin().inspect("a").waiters());
      assertTrue(lease.isHeld());
      assertTrue(
          waiter.handle((l, e) -> e instanceof IllegalStateException).get(30, TimeUnit.SECONDS));
    }
  }

  /** A store with more than {@code MAX_KEPT_ENTRIES} entries removes an entry at each release. */
  @Test
  void aNameWhoseEntryIsRemovedAgainAndAgainNeverHasTwoHolders() throws Exception {
    MemoryStore store = MemoryStore.open("forgetting");
    Clock clock = new Clock(new AtomicLong());
    for (int i = 0; i < 100; i++) {
      acquire(store, "held " + i, clock);
    }
    AtomicInteger holders = new AtomicInteger();
    AtomicBoolean failed = new AtomicBoolean();
    List<CompletableFuture<Void>> threads = new ArrayList<>();
    for (int thread = 0; thread < 3; thread++) {
      String id = "of thread " + thread;
      threads.add(
          CompletableFuture.runAsync(
              () -> {
                for (int i = 0; i < 100_000; i++) {
                  Claim claim = new Claim("a", id, FIXED.ttl(), false, "test", 0);
                  Place place = new Place(claim, clock);
                  store.tryAcquire(place, 0);
                  if (place.isGranted()) {
                    boolean alone = holders.incrementAndGet() == 1;
                    holders.decrementAndGet();
                    if (!store.release(claim, 0) || !alone) {
                      failed.set(true);
                    }
                  }
                }
              }));
    }
    for (CompletableFuture<Void> thread : threads) {
      thread.get(60, TimeUnit.SECONDS);
    }
    assertFalse(failed.get());
    assertEquals(100, store.size());
    store.close();
  }
}
