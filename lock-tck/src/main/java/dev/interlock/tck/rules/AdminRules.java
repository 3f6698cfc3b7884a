package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Capability;
import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockState;
import dev.interlock.LockTimeoutException;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.TimeSource;
import dev.interlock.tck.run.Requires;
import dev.interlock.tck.run.Rule;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.parallel.ResourceLock;

/** ADMIN: inspecting and intervening. */
public abstract class AdminRules extends RuleTest {

  private static final int MORE_THAN_A_PAGE = 120;
  private static final int SEVERAL_PAGES = 300;

  @Rule("ADMIN-01")
  void inspectionSeesWhatAnotherClientHolds() throws Exception {
    String name = newName();
    LockClient holder = labelled("a particular holder");
    LockClient observer = client();
    assertFalse(
        answer(() -> observer.admin().inspect(name)).isHeld(),
        "a lock is shown as held before it was acquired");
    ReleaseOutcome outcome;
    Lease lease = holder.lock(name).acquire();
    try {
      LockState state = assertSeen(observer, lease, "a particular holder");
      assertEquals(name, state.name());
      renewNow(lease, bound());
      LockState renewed = answer(() -> observer.admin().inspect(name));
      assertEquals(
          state.heldSince(),
          renewed.heldSince(),
          "a renewal changed the time of the grant that is shown");
      assertEquals(
          state.fencingToken(), renewed.fencingToken(), "a renewal changed the token shown");
      Duration remaining = state.remaining().orElse(Duration.ZERO);
      assertTrue(
          remaining.compareTo(maxLifetime(lease)) <= 0,
          () ->
              "remaining time shown: %s, with a TTL of %s"
                  .formatted(text(remaining), lease.effectiveTtl()));
    } finally {
      outcome = lease.release();
    }
    assertSeenFree(observer, name, outcome);
  }

  @Rule("ADMIN-01")
  void everyClientSeesThePresentHolderAndTheWaiters() throws Exception {
    String name = newName();
    LockClient first = labelled("the first holder");
    LockClient second = labelled("the second holder");
    LockClient third = labelled("a waiter");
    LockClient observer = client();
    List<LockClient> everybody = List.of(first, second, third, observer);
    Lease lease = acquireNow(first.lock(name));
    everybody.forEach(client -> assertSeen(client, lease, "the first holder"));

    DistributedLock brief =
        third.lock(name, options -> options.waitTimeout(Duration.ofMillis(300)));
    LockTimeoutException timeout =
        assertThrows(LockTimeoutException.class, () -> answer(brief::acquire));
    timeout
        .heldBy()
        .ifPresent(
            label ->
                assertEquals(
                    "the first holder", label, "the holder that the exception of a waiter names"));
    assertRefused(second.lock(name), "a held lock was acquired");
    everybody.forEach(client -> assertSeen(client, lease, "the first holder"));
    eventually(
        () -> observer.admin().inspect(name).waiters().isEmpty(),
        "a waiter that timed out is still shown");

    CompletableFuture<Lease> next = second.lock(name).acquireAsync();
    awaitQueued(observer, name, 1);
    CompletableFuture<Lease> never = third.lock(name).acquireAsync();
    awaitQueued(observer, name, 2);
    if (has(Capability.FIFO)) {
      for (LockClient client : everybody) {
        assertEquals(
            List.of("the second holder", "a waiter"),
            answer(() -> client.admin().inspect(name)).waiters(),
            "the waiters, in the order of the queue");
      }
    }
    if (!has(Capability.FIFO)) {
      never.cancel(true); // it might be served first
    }
    lease.release();
    try (Lease successor = within(next, "a waiter was not served")) {
      everybody.forEach(client -> assertSeen(client, successor, "the second holder"));
      never.cancel(true);
      eventually(
          () -> observer.admin().inspect(name).waiters().isEmpty(),
          "a waiter that has left is still shown");
    }
  }

  private LockState assertSeen(LockClient observer, Lease lease, String holder) {
    LockState state = answer(() -> observer.admin().inspect(lease.name()));
    assertTrue(state.isHeld(), "a lock is shown as not held while a lease was");
    assertShown(
        state.holder().flatMap(LockState.Holder::label), state.fencingToken(), holder, lease);
    return state;
  }

  @Rule("ADMIN-01")
  void theTimeLeftIsThatForWhichTheStoreStillGrantsTheLock() throws Exception {
    // A busy majority may grant and free the lock at different times on different nodes.
    assertTrue(anyOfThree(this::showsTheTimeLeft));
  }

  private boolean showsTheTimeLeft(boolean lastAttempt) throws Exception {
    String name = newName();
    LockClient observer = client();
    DistributedLock other = client().lock(name);
    Lease lease = acquireNow(client(unrenewed()).lock(name));
    long validUntil = System.nanoTime() + lease.remainingValidity().toNanos();
    long earliest = Long.MAX_VALUE;
    long latest = Long.MIN_VALUE;
    Optional<Lease> next = Optional.empty();
    long end = System.nanoTime() + maxLifetime(lease).toNanos();
    while (next.isEmpty() && System.nanoTime() - end < 0) {
      long before = System.nanoTime() - validUntil;
      LockState state = answer(() -> observer.admin().inspect(name));
      long after = System.nanoTime() - validUntil;
      // Leaves out attempts that a busy store granted too late.
      boolean isOther = state.fencingToken().orElse(lease.fencingToken()) != lease.fencingToken();
      if (state.isHeld() && !isOther && state.remaining().isPresent()) {
        long remaining = state.remaining().get().toNanos();
        latest = Math.max(latest, before + remaining);
        // near its end a store may round the remaining time to zero
        earliest = Math.min(earliest, after + remaining);
      }
      next = answer(other::tryAcquire);
      sleep(Duration.ofMillis(10));
    }
    long freed = System.nanoTime() - validUntil;
    assertTrue(next.isPresent(), "the store did not free the lock after the TTL");
    next.get().release();
    assumeApplicable(latest > Long.MIN_VALUE, info().name() + " does not show the time left");
    long tolerance = info().granularity().toNanos() + 50_000_000;
    return isShown(latest - freed, tolerance, lastAttempt, "longer than the store granted the lock")
        && isShown(-earliest, tolerance, lastAttempt, "shorter than the lease is valid");
  }

  private static boolean isShown(
      long wrongBy, long tolerance, boolean lastAttempt, String direction) {
    assertTrue(
        wrongBy <= tolerance || !lastAttempt,
        () -> "the time left was shown as " + text(Duration.ofNanos(wrongBy)) + " " + direction);
    return wrongBy <= tolerance;
  }

  @Rule("ADMIN-01")
  void theTimeOfTheGrantIsReadFromARunningClock() throws Exception {
    String name = newName();
    LockClient observer = client();
    List<Instant> shown = new ArrayList<>();
    List<Long> before = new ArrayList<>();
    List<Long> after = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      before.add(System.nanoTime());
      Lease lease = acquireNow(client().lock(name));
      after.add(System.nanoTime());
      sleep(Duration.ofMillis(500)); // so that the time of the query differs from that of the grant
      answer(() -> observer.admin().inspect(name)).heldSince().ifPresent(shown::add);
      lease.release();
    }
    assumeApplicable(shown.size() == 2, info().name() + " does not show the time of the grant");
    long between = Duration.between(shown.get(0), shown.get(1)).toNanos();
    long tolerance = info().granularity().toNanos() + 100_000_000;
    long minNanos = before.get(1) - after.get(0) - tolerance;
    long maxNanos = after.get(1) - before.get(0) + tolerance;
    assertTrue(
        between >= minNanos && between <= maxNanos,
        () ->
            "by the times shown, the second grant came %d ns after the first; in fact it was %d to %d ns"
                .formatted(between, minNanos, maxNanos));
  }

  @Rule("ADMIN-02")
  void aForcedReleaseConcernsOneNameOnly() throws Exception {
    String name = newName();
    LockClient operator = client();
    LockClient holder = client();
    List<Lease> neighbours = new ArrayList<>();
    for (String other : List.of(name + "a", name + "/a", name + ":a", name + "*", "a" + name)) {
      neighbours.add(acquireNow(holder.lock(other)));
    }
    assertFalse(
        answer(() -> operator.admin().forceRelease(name)),
        "a free lock was reported as held because of a similar name");
    assertFalse(
        answer(() -> operator.admin().inspect(name)).isHeld(),
        "a free lock is shown as held because of a similar name");
    Lease forced = acquireNow(holder.lock(name));
    forceRelease(operator, name, "a held lock was reported as free");
    for (Lease neighbour : neighbours) {
      assertReleased(
          neighbour, "the forced release of " + name + " freed " + neighbour.name() + ", too");
    }
    forced.release();
  }

  @Rule("ADMIN-02")
  void aForcedReleaseFreesTheLockAndTokensKeepRising() throws Exception {
    testForcedRelease(Kind.LOCK, Kind.LOCK, 1);
  }

  @Rule({"ADMIN-02", "RW-09"})
  void anExpiredLockIsFreeForOperatorsAndForAnyKind() throws Exception {
    LockClient other = client();
    LockClient expiring = client(unrenewed());
    Map<Lease, Kind> leases = new LinkedHashMap<>();
    for (int i = 0; i < 6; i++) { // other tests' attempts may remove some when these expire
      for (Kind kind : kinds()) {
        leases.put(acquireNow(kind.of(expiring, newName())), kind);
      }
      sleep(Duration.ofMillis(20));
    }
    Kind last = kinds().get(kinds().size() - 1);
    int number = 0;
    for (Map.Entry<Lease, Kind> each : leases.entrySet()) {
      String name = each.getKey().name();
      eventually(
          maxLifetime(each.getKey()),
          () -> !other.admin().inspect(name).isHeld(),
          "a lease that has expired is shown as held");
      boolean forced = number++ / kinds().size() % 2 == 0;
      if (forced) {
        assertFalse(
            answer(() -> other.admin().forceRelease(name)), "an expired lock was reported as held");
      } else {
        Kind another = each.getValue() == Kind.LOCK ? last : Kind.LOCK;
        acquireNow(another.of(other, name), "an expired lock is not free for another kind")
            .release();
      }
    }
  }

  @Rule("ADMIN-03")
  @Requires(Capability.REVOKE)
  void aRevocationKeepsOthersWaitingUntilTheLeaseHasEnded() throws Exception {
    testRevocation(Kind.LOCK, Kind.LOCK, 1);
  }

  @Rule("ADMIN-03")
  @Requires(Capability.REVOKE)
  void aRevokedLockIsFreeWhenItsHolderReleasesIt() throws Exception {
    String name = newName();
    LockClient holder = client(longLived());
    DistributedLock lock =
        has(Capability.DEFERRED_RELEASE)
            ? holder.lock(name, options -> options.minHold(timing().renewedTtl()))
            : holder.lock(name);
    Lease revoked = acquireNow(lock);
    LockClient operator = client();
    answer(() -> operator.admin().revoke(name));
    var unused = revoked.release();
    assertFree(operator.lock(name), "the release of a revoked lock did not free it");
  }

  @Rule("ADMIN-04")
  @Requires(Capability.LIST)
  void aListingShowsTheHeldLocksWithThePrefixAndNoOthers() {
    LockClient observer = client();
    LockClient holder = labelled("a particular holder");
    String prefix = newName();
    String common = prefix + "/Ab*?[^x]\\d\\_%.{";
    Map<String, Lease> listed = new HashMap<>();
    for (int i = 0; i < MORE_THAN_A_PAGE; i++) {
      String name = common + i;
      listed.put(name, acquireNow((i % 2 == 0 ? holder : observer).lock(name)));
    }
    for (String name : List.of(prefix, prefix + "\uD83D\uDD12")) {
      listed.put(name, acquireNow(holder.lock(name)));
    }
    for (String other : List.of("x" + prefix, prefix.toUpperCase(Locale.ROOT), "unrelated")) {
      acquireNow(holder.lock(other.equals("unrelated") ? newName() : other));
    }
    String freed = prefix + "/freed";
    Lease released = acquireNow(holder.lock(freed));
    assertSeenFree(observer, freed, released.release());

    assertListed(observer, prefix, listed.keySet());
    Set<String> narrower = new TreeSet<>(listed.keySet());
    narrower.removeIf(name -> !name.startsWith(common));
    assertListed(observer, prefix + "/Ab*?[^x]\\", narrower);
    narrower.removeIf(name -> !name.startsWith(common + "1"));
    assertListed(observer, common + "1", narrower);
    assertListed(observer, prefix + "/ab", Set.of());
    assertListed(observer, prefix + "/Abx", Set.of());
    Set<String> all = new HashSet<>();
    answer(
        () -> {
          try {
            observer.admin().list("").forEach(state -> all.add(state.name()));
          } catch (LockConfigurationException e) {
            // Other rules may have left locks that this user may not read. They are listed last.
          }
          return all;
        });
    assertTrue(all.containsAll(listed.keySet()), "the listing without a prefix lacks held locks");

    // A listing of one lock may pass over empty pages of the store.
    for (int i = 20; i < 100; i += 11) {
      String name = common + i;
      assertListed(observer, name, Set.of(name));
      LockState one = answer(() -> observer.admin().list(name).toList()).get(0);
      assertTrue(one.isHeld(), "a lock is listed, but not shown as held");
      assertListedAs(answer(() -> observer.admin().inspect(name)), one);
    }
    assertListedWhileOthersAreReleased(observer, prefix, listed);
  }

  @Rule("ADMIN-04")
  @Requires(Capability.LIST)
  @ResourceLock(STORE_ENTRIES)
  void thePagesOfAListingShowEveryHeldLock() throws Exception {
    DirectBackend backend = directBackend();
    String prefix = newName() + "/";
    List<Grant> grants =
        backend.acquireAll(
            SEVERAL_PAGES, prefix, i -> i % 2 == 0 ? timing().longTtl() : timing().ttl());
    Set<String> unreleased = new TreeSet<>();
    Set<String> released = new TreeSet<>();
    for (Grant grant : grants) {
      String name = grant.claim().name();
      if (name.endsWith("0")) {
        backend.release(grant);
        released.add(name);
      } else if (grant.claim().ttl().equals(timing().longTtl())) {
        unreleased.add(name);
      }
    }
    // The others end meanwhile.
    Deadline end = Deadline.in(TimeSource.system(), timing().ttl().plus(info().granularity()));
    do {
      for (int limit : List.of(10, 100)) {
        Set<String> listed = backend.namesOnPages(prefix, limit, SEVERAL_PAGES / 2 + limit);
        Set<String> missing = new TreeSet<>(unreleased);
        missing.removeAll(listed);
        assertEquals(Set.of(), missing, "the names of held locks that no page shows");
        if (!has(Capability.REPLICATED)) { // a node may learn of a release later
          listed.retainAll(released);
          assertEquals(Set.of(), listed, "the names of released locks on pages");
        }
      }
    } while (!end.hasPassed());
  }

  private void assertListedWhileOthersAreReleased(
      LockClient observer, String prefix, Map<String, Lease> locks) {
    Set<String> names = new HashSet<>();
    answer(
        () -> {
          try (Stream<LockState> listing = observer.admin().list(prefix)) {
            Iterator<LockState> states = listing.iterator();
            while (locks.size() > MORE_THAN_A_PAGE * 2 / 3 && states.hasNext()) {
              Lease listed = locks.remove(states.next().name());
              if (listed != null) {
                listed.release();
              }
            }
            states.forEachRemaining(state -> names.add(state.name()));
          }
          return names;
        });
    assertTrue(
        names.containsAll(locks.keySet()),
        () -> {
          locks.keySet().removeAll(names);
          return "while others were released, a listing missed held locks: " + locks.keySet();
        });
  }

  @Rule("ADMIN-04")
  @Requires(Capability.LIST)
  void aListingDoesNotShowALockThatHasExpired() throws Exception {
    LockClient observer = client();
    LockClient expiring = client(unrenewed());
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      leases.add(acquireNow(expiring.lock(newName())));
      sleep(Duration.ofMillis(20)); // other tests' attempts may remove some when these expire
    }
    for (Lease lease : leases) {
      boolean inspects = lease != leases.get(0);
      awaitEndListed(observer, lease.name(), 0, inspects, maxLifetime(lease));
      assertFalse(lease.isHeld(), "a lock is not listed although its lease is valid");
    }
  }

  @Rule("ADMIN-04")
  @Requires(Capability.LIST)
  void aListingIsRightWhileOtherLocksComeAndGo() throws Exception {
    String prefix = newName();
    LockClient observer = client();
    LockClient holder = labelled("a particular holder");
    Map<String, LockState> kept = new HashMap<>();
    UseManyNames.forEach(
            40,
            i -> {
              String name = acquireNow(holder.lock(prefix + "/" + i + "/kept")).name();
              return answer(() -> observer.admin().inspect(name));
            })
        .forEach(state -> kept.put(state.name(), state));
    BusyThreads busy = new BusyThreads(() -> {});
    LockClient client = client();
    for (int i = 0; i < 8; i++) { // each on a name of its own, which is free half of the time
      busy.start(client.lock(prefix + "/" + i + "/busy"), 1);
    }
    busy.awaitGrants(8);
    for (int i = 0; i < 15; i++) {
      List<LockState> listed = answer(() -> observer.admin().list(prefix).toList());
      Set<String> missing = new TreeSet<>(kept.keySet());
      for (LockState state : listed) {
        missing.remove(state.name());
        assertTrue(state.isHeld(), "a lock is listed, but not shown as held");
        assertListedAs(kept.getOrDefault(state.name(), state), state);
      }
      assertEquals(Set.of(), missing, "the held locks that a listing missed while others came");
    }
    busy.stop();
  }

  private void assertListed(LockClient observer, String prefix, Set<String> expected) {
    List<String> names =
        answer(() -> observer.admin().list(prefix).map(LockState::name).sorted().toList());
    assertEquals(expected.stream().sorted().toList(), names, "the names listed under " + prefix);
  }

  @Rule("ADMIN-04")
  @Requires(value = Capability.LIST, absent = true)
  void withoutListingTheAttemptIsRefused() {
    LockClient observer = client();
    assertThrows(UnsupportedOperationException.class, () -> observer.admin().list(newName()));
  }

  @Rule("ADMIN-03")
  @Requires(value = Capability.REVOKE, absent = true)
  void withoutRevocationTheAttemptIsRefused() {
    LockClient operator = client();
    assertThrows(UnsupportedOperationException.class, () -> operator.admin().revoke(newName()));
  }
}
