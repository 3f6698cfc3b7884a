package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Capability;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockState;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.Requires;
import dev.interlock.tck.Rule;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** ADMIN: inspecting and intervening. */
public abstract class AdminRules extends RuleTest {

  /** More locks than fit on one page of a listing. */
  private static final int LISTED = 120;

  @Test
  @Rule("ADMIN-01")
  void inspectionSeesWhatAnotherClientHolds() throws Exception {
    String name = newName();
    LockClient holder = client(lasting().toBuilder().holder("a particular holder").build());
    LockClient observer = client();
    assertFalse(answer(() -> observer.inspect(name)).isHeld(), "held before it was acquired");
    ReleaseOutcome outcome;
    Lease lease = holder.lock(name).acquire();
    try {
      LockState state = answer(() -> observer.inspect(name));
      assertEquals(name, state.name());
      assertTrue(state.isHeld(), "not held while a lease was");
      state.holder().ifPresent(label -> assertEquals("a particular holder", label));
      if (has(Capability.FENCING)) {
        state
            .fencingToken()
            .ifPresent(token -> assertEquals(lease.fencingToken(), token, "the token shown"));
      }
      renewNow(lease, bound());
      assertEquals(
          state.heldSince(),
          answer(() -> observer.inspect(name)).heldSince(),
          "a renewal changed since when the lock is held");
      state
          .remaining()
          .ifPresent(
              remaining ->
                  assertTrue(
                      remaining.compareTo(untilEnd(lease)) <= 0,
                      () -> "remaining " + text(remaining) + " of " + lease.effectiveTtl()));
    } finally {
      outcome = lease.release();
    }
    assertSeenFree(observer, name, outcome);
  }

  @Test
  @Rule("ADMIN-02")
  void aForcedReleaseFreesTheLockAndTokensKeepRising() throws Exception {
    String name = newName();
    LockClient operator = client();
    assertFalse(answer(() -> operator.forceRelease(name)), "a free lock was reported as held");
    Lease forced = client().lock(name).acquire();
    forceRelease(operator, name, "a held lock was reported as free");
    try (Lease next = acquireWithin(operator.lock(name), "not free after the forced release")) {
      if (has(Capability.FENCING)) {
        assertTrue(
            next.fencingToken() > forced.fencingToken(), "the token does not tell them apart");
      }
      forced.release();
      assertTrue(next.isHeld());
      assertRefused(client().lock(name), "the forced lease's release touched its successor");
    }
  }

  @Test
  @Rule("ADMIN-03")
  @Requires(Capability.REVOKE)
  void aRevocationKeepsOthersWaitingUntilTheLeaseHasEnded() throws Exception {
    String name = newName();
    LockClient operator = client();
    assertFalse(answer(() -> operator.revoke(name)), "a free lock was reported as held");
    Lease revoked = client(renewed()).lock(name).acquire();
    Future<Boolean> overlap =
        inThread(
            () -> {
              try (Lease next = operator.lock(name).acquire()) {
                boolean both = revoked.isHeld();
                return both && next.isHeld();
              }
            });
    AtomicBoolean inDoubt = new AtomicBoolean(); // a repeated request may find it revoked
    boolean seen =
        answer(
            () -> {
              boolean asked = inDoubt.getAndSet(true);
              return operator.revoke(name) || asked;
            });
    assertTrue(seen, "a held lock was reported as free");
    assertFalse(
        within(
            untilEnd(revoked),
            overlap,
            "no waiter acquired the lock after the revoked lease had ended"),
        "the successor acquired the lock while the revoked lease was still valid");
    assertFalse(revoked.isHeld(), "a revoked lease was renewed");
  }

  @Test
  @Rule("ADMIN-04")
  @Requires(Capability.LIST)
  void aListingShowsTheHeldLocksWithThePrefixAndNoOthers() {
    LockClient observer = client();
    LockClient holder = client(lasting().toBuilder().holder("a particular holder").build());
    String prefix = newName();
    Map<String, Lease> listed = new HashMap<>();
    for (int i = 0; i < LISTED; i++) {
      String name = prefix + "/Ab*?[^x]\\_%.{" + i;
      listed.put(name, acquireNow((i % 2 == 0 ? holder : observer).lock(name)));
    }
    listed.put(prefix, acquireNow(holder.lock(prefix)));
    for (String other : List.of("x" + prefix, prefix.toUpperCase(Locale.ROOT), "unrelated")) {
      acquireNow(holder.lock(other.equals("unrelated") ? newName() : other));
    }
    String freed = prefix + "/freed";
    Lease released = acquireNow(holder.lock(freed));
    assertSeenFree(observer, freed, released.release());

    assertListed(observer, prefix, listed.keySet());
    Set<String> narrower = new TreeSet<>(listed.keySet());
    narrower.removeIf(name -> !name.startsWith(prefix + "/Ab*?[^x]\\_%.{1"));
    assertListed(observer, prefix + "/Ab*?[^x]\\_%.{1", narrower);
    assertListed(observer, prefix + "/ab", Set.of());
    assertListed(observer, prefix + "/Abx", Set.of());
    Set<String> all = new HashSet<>();
    answer(
        () -> {
          try {
            observer.list("").forEach(state -> all.add(state.name()));
          } catch (LockConfigurationException e) {
            // Other rules may have left locks that this user may not read; those come last.
          }
          return all;
        });
    assertTrue(all.containsAll(listed.keySet()), "the listing without a prefix lacks held locks");

    LockState one = answer(() -> observer.list(prefix + "/Ab*?[^x]\\_%.{10").toList()).get(0);
    LockState inspected = answer(() -> observer.inspect(one.name()));
    assertTrue(one.isHeld(), "listed, but not shown as held");
    assertEquals(inspected.holder(), one.holder());
    assertEquals(inspected.fencingToken(), one.fencingToken());
    assertEquals(inspected.heldSince(), one.heldSince());
    assertEquals(inspected.remaining().isPresent(), one.remaining().isPresent());
  }

  private void assertListed(LockClient observer, String prefix, Set<String> expected) {
    List<String> names = answer(() -> observer.list(prefix).map(LockState::name).sorted().toList());
    assertEquals(expected.stream().sorted().toList(), names, "what is listed under " + prefix);
  }

  @Test
  @Rule("ADMIN-04")
  @Requires(value = Capability.LIST, absent = true)
  void withoutListingTheAttemptIsRefused() {
    LockClient observer = client();
    assertThrows(UnsupportedOperationException.class, () -> observer.list(newName()));
  }

  @Test
  @Rule("ADMIN-03")
  @Requires(value = Capability.REVOKE, absent = true)
  void withoutRevocationTheAttemptIsRefused() {
    LockClient operator = client();
    assertThrows(UnsupportedOperationException.class, () -> operator.revoke(newName()));
  }
}
