package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Capability;
import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockEvent;
import dev.interlock.MultiLease;
import dev.interlock.ReleaseOutcome;
import dev.interlock.tck.run.Requires;
import dev.interlock.tck.run.Rule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;

/** MULTI: several names at once. */
public abstract class MultiLockRules extends RuleTest {

  @Rule("MULTI-01")
  void duplicatesCountOnceAndNamesAreTakenByCodePoint() throws Exception {
    String prefix = newName();
    // By code point the padlock is last; by UTF-16 unit it would come before the ligature.
    String padlock = prefix + "\uD83D\uDD12";
    String ligature = prefix + "\uFB01";
    String letter = prefix + "a";
    LockClient client = client();
    try (MultiLease lease =
        client.multiLock(List.of(padlock, letter, ligature, letter)).acquire()) {
      assertEquals(List.of(letter, ligature, padlock), lease.names());
      assertTrue(lease.isHeld());
      for (String name : lease.names()) {
        assertRefused(
            client().lock(name), "another client acquired a member of a set that is held");
      }
    }
  }

  @Rule("MULTI-01")
  void overlappingSetsNeverDeadlock() throws Exception {
    String a = newName();
    String b = newName();
    String c = newName();
    List<List<String>> sets =
        List.of(List.of(a, b, c), List.of(c, b, a), List.of(b, a), List.of(c, a));
    List<Future<?>> workers = new ArrayList<>();
    for (List<String> set : sets) {
      LockClient client = client();
      workers.add(
          doInThread(
              () -> {
                for (int round = 0; round < 10; round++) {
                  client.multiLock(set).acquire().close();
                }
              }));
    }
    allWithin(Duration.ofSeconds(100), workers, "not all overlapping sets were acquired");
  }

  @Rule("MULTI-01")
  void aSetNotAcquiredInTimeLeavesItsMembersFree() throws Exception {
    LockClient client = client();
    assertFreesMembers(set -> answer(client.multiLock(set)::tryAcquire));
    assertFreesMembers(
        set -> answer(() -> client.multiLock(set).tryAcquire(Duration.ofMillis(300))));
  }

  private interface SetAttempt {
    Optional<MultiLease> on(List<String> names) throws InterruptedException;
  }

  /**
   * Checks that the members are free after the attempt. A busy store may execute the release of a
   * member later, so the check runs up to three times.
   */
  private void assertFreesMembers(SetAttempt attempt) throws InterruptedException {
    int free = 0;
    for (int attempts = 3; free == 0 && attempts > 0; attempts--) {
      String base = newName();
      String first = base + "-1";
      String second = base + "-2";
      try (Lease taken = client().lock(second).acquire()) {
        assertTrue(attempt.on(List.of(first, second)).isEmpty());
        Optional<Lease> acquired = answer(client().lock(first)::tryAcquire);
        free += acquired.isPresent() ? 1 : 0;
        acquired.ifPresent(Lease::release);
        assertTrue(taken.isHeld());
      }
    }
    assertEquals(1, free, "a set that was not acquired keeps a member");
  }

  @Rule("MULTI-02")
  void membersAreRenewedDuringTheWaitAndBeforeTheGrant() throws Exception {
    // A busy store may leave renewals unanswered, or confirm a shorter validity.
    assertTrue(anyOfThree(this::areMembersRenewed));
  }

  /** {@return false if a busy store did not answer renewals, or confirmed a shorter validity} */
  private boolean areMembersRenewed(boolean lastAttempt) throws Exception {
    String base = newName();
    String first = base + "-1";
    String second = base + "-2";
    Lease blocker = client().lock(second).acquire();
    // Without auto-renewal, so only the acquisition of the set renews the first member.
    LockClient client = client(options(timing().renewedTtl(), false));
    AtomicBoolean unanswered = new AtomicBoolean();
    client.onEvent(
        event -> {
          if (event instanceof LockEvent.AtRisk) {
            unanswered.set(true);
          }
        });
    // On a session the validity after each answer is shorter than the TTL.
    Lease fresh = acquireNow(client.lock(newName()));
    Duration fullValidity = fresh.remainingValidity();
    fresh.release();
    Future<MultiLease> acquisition =
        inThread(() -> client.multiLock(List.of(first, second)).acquire());
    DistributedLock prober = client().lock(first);
    eventually(
        () -> {
          var free = prober.tryAcquire();
          free.ifPresent(Lease::release);
          return free.isEmpty();
        },
        "the first member of the set was not acquired");
    long end = System.nanoTime() + timing().renewedTtl().multipliedBy(3).dividedBy(2).toNanos();
    while (System.nanoTime() - end < 0) {
      var free = answer(prober::tryAcquire);
      if (free.isPresent()) {
        free.get().release();
        blocker.close();
        within(acquisition, "the set was not acquired after the release").release();
        assertTrue(
            unanswered.get(), "the first member was freed while the set waited for the second");
        assumeTestable(!lastAttempt, "the store left renewals unanswered each time");
        return false;
      }
      sleep(Duration.ofMillis(100));
    }
    long released = System.nanoTime();
    blocker.close();
    MultiLease lease = within(acquisition, "the set was not acquired after the release");
    Duration remaining = lease.remainingValidity();
    Duration minRemaining = fullValidity.minus(since(released)).minus(fullValidity.dividedBy(10));
    // On a session a renewal may count from an earlier contact, by up to a quarter of the validity.
    if (remaining.compareTo(minRemaining) < 0) {
      lease.release();
      assertFalse(
          lastAttempt,
          () ->
              "only %s of a validity of %s were left after the grant"
                  .formatted(text(remaining), text(fullValidity)));
      return false;
    }
    assertNotEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
    assertFree(prober, "the first member was not released");
    return true;
  }

  @Rule("MULTI-02")
  void losingOneMemberLosesAllAndReleasesTheOthers() throws Exception {
    String base = newName();
    String first = base + "-1";
    String second = base + "-2";
    String third = base + "-3";
    MultiLease lease = client(renewed()).multiLock(List.of(first, second, third)).acquire();
    LockClient other = client();
    forceRelease(other, second, "forceRelease did not see the member");
    within(
        maxLifetime(lease),
        lease.onLoss(),
        "the loss of a member was not reported as the loss of the set");
    assertFalse(lease.isHeld(), "a set that has lost a member is still held");
    assertFree(other.lock(first), "the other members were not released");
    assertFree(other.lock(third), "the other members were not released");
    assertEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
  }

  @Rule("MULTI-03")
  @Requires(Capability.FENCING)
  void eachNameHasTheTokenOfItsOwnAcquisition() throws Exception {
    String base = newName();
    String first = base + "-1";
    String second = base + "-2";
    LockClient client = client();
    long before;
    try (Lease lease = client.lock(first).acquire()) {
      before = lease.fencingToken();
    }
    long ofFirst;
    try (MultiLease lease = client.multiLock(List.of(second, first)).acquire()) {
      ofFirst = lease.fencingToken(first);
      assertTrue(ofFirst > before, "the token did not rise");
      assertTrue(lease.fencingToken(second) > 0);
      assertThrows(IllegalArgumentException.class, () -> lease.fencingToken(first + "?"));
    }
    try (Lease lease = client.lock(first).acquire()) {
      assertTrue(lease.fencingToken() > ofFirst, "the token did not rise");
    }
  }

  @Rule("MULTI-03")
  @Requires(value = Capability.FENCING, absent = true)
  void withoutFencingThereIsNoTokenOfAMember() throws Exception {
    String name = newName();
    try (MultiLease lease = client().multiLock(List.of(name)).acquire()) {
      assertThrows(UnsupportedOperationException.class, () -> lease.fencingToken(name));
    }
  }
}
