package dev.interlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Tests which claims are granted a share of a lock and which must wait, without a database. */
class SharedHoldsTest {

  private static final long TTL = TimeUnit.SECONDS.toMicros(30);
  private static final Duration WAIT = Duration.ofSeconds(6);

  private long now = TimeUnit.DAYS.toMicros(20_000);
  private long token = 100;
  private String content = "";
  private boolean revoked;

  private SharedHolds state(Share share) {
    return SharedHolds.read(share.kind(), share.capacity(), revoked, content, 200_000, now);
  }

  private boolean isGranted(Claim claim) {
    return isGranted(claim, "@any", null);
  }

  private boolean isGranted(Claim claim, String client, @Nullable Long since) {
    SharedHolds state = state(claim.share());
    SharedHolds.Refusal refusal = state.acquire(claim, client, since, ++token, now + TTL);
    content = state.content();
    return refusal == null;
  }

  private SharedHolds.Refusal refusal(Claim claim) {
    SharedHolds state = state(claim.share());
    SharedHolds.Refusal refusal = state.acquire(claim, "@any", null, ++token, now + TTL);
    content = state.content();
    assertNotNull(refusal, "granted");
    return refusal;
  }

  private void release(Claim claim) {
    SharedHolds state = state(claim.share());
    assertNotNull(state.release(claim.id()));
    content = state.content();
  }

  private boolean releaseAndReserve(Claim claim) {
    SharedHolds state = state(claim.share());
    assertNotNull(state.release(claim.id()));
    boolean room = state.reserveForFirst();
    content = state.content();
    return room;
  }

  private void pass(long millis) {
    now += TimeUnit.MILLISECONDS.toMicros(millis);
  }

  private static Claim reader() {
    return Backends.claim("job", Share.READ);
  }

  private static Claim writer(Duration reservation) {
    return Backends.claim("job", Share.WRITE, Backends.TTL, reservation);
  }

  private static Claim permits(int permits, int limit) {
    return Backends.claim("job", Share.ofSemaphore(permits, limit));
  }

  @Test
  void aWaitThatBeganInTheFutureIsDropped() {
    Claim early = reader();
    assertTrue(isGranted(early));
    assertFalse(isGranted(writer(WAIT)));
    release(early);
    now -= TimeUnit.HOURS.toMicros(1);
    assertTrue(isGranted(reader()));
  }

  @Test
  void aReservationThatBeganInTheFutureIsDropped() {
    Claim early = reader();
    assertTrue(isGranted(early));
    assertFalse(isGranted(writer(WAIT), "@far", now));
    assertTrue(releaseAndReserve(early), "nothing is reserved");
    now -= TimeUnit.HOURS.toMicros(1);
    assertTrue(isGranted(reader()));
  }

  @Test
  void permitsStayWithinTheLimit() {
    Claim three = permits(3, 5);
    assertTrue(isGranted(three));
    assertFalse(isGranted(permits(3, 5)));
    assertTrue(isGranted(permits(2, 5)));
    assertFalse(isGranted(permits(1, 5)));
    release(three);
    assertTrue(isGranted(permits(3, 5)));
    assertFalse(isGranted(permits(1, 5)));
  }

  @Test
  void theLimitMayBeTheHighestNumber() {
    assertTrue(isGranted(permits(Integer.MAX_VALUE - 1, Integer.MAX_VALUE)));
    assertFalse(isGranted(permits(2, Integer.MAX_VALUE)));
    assertTrue(isGranted(permits(1, Integer.MAX_VALUE)));
  }

  @Test
  void aHoldThatHasEndedMakesRoom() {
    assertTrue(isGranted(permits(1, 1)));
    SharedHolds.Refusal refusal = refusal(permits(1, 1));
    assertEquals(now + TTL, refusal.retryAtMicros());
    assertEquals("host/1/test", refusal.holder());
    now += TTL - 1;
    assertFalse(isGranted(permits(1, 1)));
    now++;
    assertTrue(isGranted(permits(1, 1)));
  }

  @Test
  void eachHoldIsRenewedSeparately() {
    Claim first = permits(1, 2);
    Claim second = permits(1, 2);
    assertTrue(isGranted(first));
    pass(1_000);
    assertTrue(isGranted(second));
    SharedHolds state = state(first.share());
    assertEquals(now - TimeUnit.SECONDS.toMicros(1) + TTL, state.renew(first.id(), now + 2 * TTL));
    content = state.content();
    now += TTL;
    SharedHolds later = state(first.share());
    assertNull(later.renew(second.id(), now + TTL));
    assertNotNull(later.renew(first.id(), now + TTL));
  }

  @Test
  void aWriterThatWaitsKeepsLaterReadersOut() {
    Claim early = reader();
    assertTrue(isGranted(early));
    assertFalse(isGranted(writer(WAIT)));
    assertFalse(isGranted(reader()));
    pass(100);
    release(early);
    assertFalse(isGranted(reader()));
    assertTrue(state(Share.READ).reserveForFirst());
    Claim writer = writer(WAIT);
    assertTrue(isGranted(writer));
    release(writer);
    assertTrue(state(Share.READ).isFree());
    assertTrue(isGranted(reader()));
  }

  @Test
  void aWriterThatStoppedWaitingIsForgotten() {
    assertTrue(isGranted(reader()));
    assertFalse(isGranted(writer(WAIT)));
    pass(WAIT.toMillis() - 1);
    assertFalse(isGranted(reader()));
    pass(1);
    assertTrue(isGranted(reader()));
  }

  @Test
  void readersThatHaveWaitedComeBeforeTheNextWriterForAShortTime() {
    Claim first = writer(Duration.ZERO);
    assertTrue(isGranted(first));
    Claim waiting = Backends.claim("job", Share.READ, Backends.TTL, WAIT);
    assertFalse(isGranted(waiting));
    pass(1);
    assertFalse(isGranted(writer(WAIT)));
    release(first);
    assertFalse(isGranted(writer(WAIT)));
    Claim reader = reader();
    assertTrue(isGranted(reader));
    pass(201);
    assertFalse(isGranted(reader()), "the readers no longer precede");
    release(reader);
    assertTrue(isGranted(writer(WAIT)));
  }

  @Test
  void aRequestForManyPermitsIsNotPassedByRequestsForFewer() {
    Claim one = permits(1, 3);
    assertTrue(isGranted(one));
    Claim all = Backends.claim("job", Share.ofSemaphore(3, 3), Backends.TTL, WAIT);
    assertFalse(isGranted(all));
    assertFalse(isGranted(permits(1, 3)));
    release(one);
    assertFalse(isGranted(permits(1, 3)));
    assertTrue(isGranted(all));
  }

  @Test
  void aReleaseReservesPermitsForTheClientThatHasWaitedLongest() {
    Claim first = permits(1, 2);
    Claim second = permits(1, 2);
    assertTrue(isGranted(first));
    assertTrue(isGranted(second));
    assertFalse(isGranted(waiting(), "@near", now));
    assertFalse(isGranted(waiting(), "@far", now - 1));
    assertFalse(isGranted(waiting(), "@near", now));
    assertTrue(releaseAndReserve(first));
    assertFalse(isGranted(waiting(), "@near", now));
    assertEquals(1, state(first.share()).state("job").holders().size());
    Claim far = waiting();
    assertTrue(isGranted(far, "@far", null));
    assertFalse(isGranted(waiting(), "@far", now));

    // The other client asked while the permits were reserved.
    assertTrue(releaseAndReserve(second));
    assertFalse(isGranted(waiting(), "@far", now));
    assertTrue(isGranted(waiting(), "@near", now));

    assertTrue(releaseAndReserve(far));
    assertFalse(isGranted(permits(1, 2), "@near", null));
    pass(300);
    assertTrue(isGranted(permits(1, 2), "@near", null));
  }

  private static Claim waiting() {
    return Backends.claim("job", Share.ofSemaphore(1, 2), Backends.TTL, WAIT);
  }

  @Test
  void aReservationExcludesOtherClaims() {
    Claim first = permits(1, 2);
    assertTrue(isGranted(first));
    assertTrue(isGranted(permits(1, 2)));
    assertFalse(isGranted(waiting(), "@far", now));
    assertTrue(releaseAndReserve(first));
    revoked = true;
    assertFalse(isGranted(waiting(), "@far", now));
    assertFalse(isGranted(permits(1, 2)));
  }

  @Test
  void aClaimThatAsksAgainIsGrantedAgain() {
    Claim claim = permits(2, 3);
    assertTrue(isGranted(claim));
    assertTrue(isGranted(claim));
    assertTrue(isGranted(permits(1, 3)));
    assertFalse(isGranted(permits(1, 3)));
  }

  @Test
  void revokedHoldsEndBeforeAnythingIsGranted() {
    Claim claim = permits(1, 3);
    assertTrue(isGranted(claim));
    revoked = true;
    assertNull(state(claim.share()).renew(claim.id(), now + TTL));
    assertFalse(isGranted(permits(1, 3)));
    assertFalse(isGranted(claim));
    now += TTL;
    assertTrue(isGranted(permits(3, 3)));
  }

  @Test
  void theStateShowsEveryHolder() {
    assertTrue(isGranted(permits(1, 3)));
    pass(1);
    assertTrue(isGranted(permits(2, 3)));
    LockState state = state(Share.ofSemaphore(1, 3)).state("job");
    assertEquals(LockKind.SEMAPHORE, state.kind().orElseThrow());
    assertEquals(OptionalInt.of(3), state.limit());
    assertEquals(2, state.holders().size());
    assertEquals(102, state.holders().get(1).fencingToken().orElseThrow());
    assertEquals(OptionalInt.of(2), state.holders().get(1).permits());
  }

  @Test
  void foreignContentIsRefused() {
    content = "lock\tx\n";
    assertThrows(IllegalArgumentException.class, () -> state(Share.READ));
  }
}
