package dev.interlock.storm.verdict;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.spi.Share;
import dev.interlock.storm.nemesis.InjectedFault;
import dev.interlock.storm.verdict.Verdict.Finding;
import dev.interlock.storm.verdict.Verdict.Recovery;
import dev.interlock.storm.workers.Client.Stop;
import dev.interlock.storm.workers.Entry;
import dev.interlock.storm.workers.GuardedStore.Writes;
import dev.interlock.tck.history.Event;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Times are in milliseconds; a TTL is 4 s, and the bound 2 s. */
class VerdictTest {
  private static final Duration BOUND = Duration.ofSeconds(2);
  private static final Writes NO_WRITES_LOST = new Writes(1, 0, 0, 1, 0);

  private final List<Record> journal =
      new ArrayList<>(List.of(new Entry.EffectiveTtl(nanos(4_000))));
  private final List<InjectedFault> faults = new ArrayList<>();
  private final Map<String, List<Stop>> stops =
      Map.of("c", List.of(new Stop(nanos(5_000), nanos(20_000))));
  private int leases;

  private static long nanos(long millis) {
    return millis * 1_000_000;
  }

  /** A lease that is requested a millisecond before it is granted. */
  private String lease(long token, long from, long validUntil) {
    return lease(Share.EXCLUSIVE, token, from, validUntil);
  }

  private String lease(Share share, long token, long from, long validUntil) {
    String id = "c/" + ++leases;
    journal.add(
        new Event.Granted(
            id,
            "a",
            token,
            "c",
            nanos(from - 1),
            nanos(from),
            nanos(validUntil),
            share.weight(),
            share.capacity()));
    return id;
  }

  private String released(long token, long from, long until) {
    String id = lease(token, from, from + 4_000);
    ends(id, until);
    journal.add(new Entry.Released(id, "RELEASED"));
    return id;
  }

  private void ends(String id, long at) {
    journal.add(new Event.Ended(id, nanos(at)));
  }

  private void extended(String id, long at, long validUntil) {
    journal.add(new Event.Extended(id, nanos(at), nanos(validUntil)));
  }

  private void reported(String id, long at) {
    journal.add(new Entry.LossReported(id, nanos(at), "EXPIRED"));
  }

  private void gaveUp(long from, long until) {
    journal.add(new Entry.NoLease(Entry.Why.BUSY, "a", nanos(from), nanos(until)));
  }

  private void fault(boolean insideModel, long from, long until) {
    fault("fault", insideModel, from, until);
  }

  private void fault(String kind, boolean insideModel, long from, long until) {
    faults.add(
        new InjectedFault(
            kind, "c", insideModel, Duration.ofMillis(from), Duration.ofMillis(until), true, ""));
  }

  private Verdict verdict() {
    return verdict(NO_WRITES_LOST, List.of());
  }

  private Verdict verdict(Writes writes, List<String> residue) {
    RecordedHistory records = new RecordedHistory();
    records.add("c", journal);
    records.sort();
    return new Verdict(records, faults, BOUND, 0).decide(stops, writes, residue);
  }

  private static List<String> rules(Verdict verdict) {
    return verdict.findings().stream().map(Finding::rule).toList();
  }

  @Test
  void leasesOneAfterTheOtherAreRight() {
    released(64, 10, 20);
    released(128, 21, 30);
    Verdict verdict = verdict();
    assertEquals(List.of(), verdict.findings());
    assertNull(verdict.counterExample());
    assertEquals(2, verdict.operations().grants());
    assertEquals(2, verdict.operations().released());
  }

  @Test
  void twoValidLeasesAreFoundAndShown() {
    lease(64, 10, 4_010);
    released(128, 3_000, 3_001);
    Verdict verdict = verdict();
    assertEquals(List.of("EXCL-01"), rules(verdict));
    assertNotNull(verdict.counterExample());
    assertTrue(verdict.counterExample().contains("two leases were valid at once"));
  }

  @Test
  void readersMayHoldTogetherAndRenewBesideEachOther() {
    String first = lease(Share.READ, 64, 10, 4_010);
    lease(Share.READ, 128, 20, 4_020);
    lease(Share.READ, 65, 30, 4_010);
    extended(first, 1_000, 9_000);
    Verdict verdict = verdict();
    assertEquals(List.of(), verdict.findings());
    assertEquals(3, verdict.operations().shared());
  }

  @Test
  void aReaderBesideAWriterIsFoundBehindOtherReaders() {
    lease(Share.READ, 64, 10, 4_010);
    ends(lease(Share.READ, 128, 20, 4_020), 30);
    lease(Share.WRITE, 192, 3_000, 3_001);
    assertEquals(List.of("EXCL-01"), rules(verdict()));
  }

  @Test
  void aWriterThatRenewsAfterAReaderWasGrantedIsFound() {
    String writer = lease(Share.WRITE, 64, 10, 4_010);
    ends(writer, 20);
    lease(Share.READ, 128, 3_000, 3_001);
    extended(writer, 3_100, 7_100);
    assertEquals(List.of("LEASE-04"), rules(verdict()));
  }

  @Test
  void morePermitsThanThereAreIsFound() {
    lease(Share.ofSemaphore(1, 3), 64, 10, 4_010);
    lease(Share.ofSemaphore(2, 3), 128, 20, 4_020);
    assertEquals(List.of(), rules(verdict()));
    lease(Share.ofSemaphore(1, 3), 192, 30, 4_030);
    Verdict verdict = verdict();
    assertEquals(List.of("EXCL-01"), rules(verdict));
    assertTrue(verdict.counterExample().contains("more was held at once than the name has"));
  }

  @Test
  void permitsThatHaveBeenReleasedLeaveRoom() {
    ends(lease(Share.ofSemaphore(2, 3), 64, 10, 4_010), 20);
    lease(Share.ofSemaphore(1, 3), 128, 15, 4_015);
    lease(Share.ofSemaphore(2, 3), 192, 20, 4_020);
    assertEquals(List.of(), rules(verdict()));
  }

  @Test
  void aFaultWithinTheModelExplainsNothing() {
    fault(true, 2_000, 2_500);
    lease(64, 10, 4_010);
    released(128, 3_000, 3_001);
    assertEquals(List.of("EXCL-01"), rules(verdict()));
  }

  @Test
  void anOverlapAfterAFaultOutsideTheModelIsCountedIfTheTokensExposeIt() {
    fault(false, 2_000, 2_500);
    lease(64, 10, 4_010);
    released(128, 3_000, 3_001);
    Verdict verdict = verdict();
    assertEquals(List.of(), verdict.findings());
    assertEquals(1, verdict.overlapsOutside());
    assertEquals(1, verdict.overlapsExposed());
  }

  @Test
  void anOverlapThatTheTokensDoNotExposeIsFound() {
    fault(false, 2_000, 2_500);
    lease(64, 10, 4_010);
    released(64, 3_000, 3_001);
    Verdict verdict = verdict();
    assertTrue(rules(verdict).contains("FENCE-01"), () -> "" + verdict.findings());
    assertEquals(0, verdict.overlapsExposed());
  }

  @Test
  void anOverlapBeforeTheFaultIsFound() {
    fault(false, 3_500, 3_600);
    lease(64, 10, 4_010);
    released(128, 3_000, 3_001);
    assertEquals(List.of("EXCL-01"), rules(verdict()));
  }

  @Test
  void anOverlapLongAfterTheFaultIsFound() {
    fault(false, 1_000, 2_000);
    String held = lease(64, 10, 4_010);
    extended(held, 9_000, 12_500);
    released(128, 9_000, 9_001);
    assertTrue(rules(verdict()).contains("EXCL-01"));
  }

  @Test
  void aTokenThatWentBackIsFoundWhateverTheFault() {
    fault(false, 15, 5_000);
    released(128, 10, 20);
    released(64, 30, 40);
    assertEquals(List.of("FENCE-01"), rules(verdict()));
  }

  @Test
  void aGrantIsAsOldAsThePlaceInTheQueueThatItsThreadContinued() {
    fault(false, 6, 8);
    gaveUp(5, 25);
    released(128, 10, 20);
    gaveUp(24, 35);
    released(64, 36, 40);
    assertEquals(List.of(), verdict().findings());
  }

  @Test
  void aPlaceThatWasGivenUpBeforeTheRequestExplainsNothing() {
    fault(false, 6, 8);
    gaveUp(5, 25);
    released(128, 10, 20);
    released(64, 36, 40);
    assertEquals(List.of("FENCE-01"), rules(verdict()));
  }

  @Test
  void aPlaceThatWasGivenUpLongAfterTheGrantExplainsNothing() {
    fault(false, 6, 8);
    gaveUp(5, 10_000);
    released(128, 10, 20);
    released(64, 36, 40);
    assertEquals(List.of("FENCE-01"), rules(verdict()));
  }

  @Test
  void aRenewalAfterTheSuccessorsGrantIsFoundWhateverTheFault() {
    fault(false, 100, 200);
    String held = lease(64, 10, 4_010);
    released(128, 300, 310);
    extended(held, 1_000, 4_301);
    assertEquals(List.of("LEASE-04"), rules(verdict()));
  }

  @Test
  void ofTwoPrimariesEachRenewsWhatItHasGranted() {
    fault("fail over", false, 100, 1_000);
    String held = lease(64, 10, 4_010);
    released(128, 2_900, 2_910);
    extended(held, 3_500, 7_100);
    assertEquals(List.of(), verdict().findings());
    released(192, 3_050, 3_060);
    extended(held, 3_600, 7_200);
    assertEquals(List.of("LEASE-04"), rules(verdict()));
  }

  @Test
  void aRenewalBeforeTheSuccessorsGrantIsRight() {
    fault(false, 100, 200);
    String held = lease(64, 10, 4_010);
    extended(held, 90, 4_085);
    released(128, 300, 310);
    assertEquals(List.of(), verdict().findings());
  }

  @Test
  void leasesOfOneTurnDoNotSucceedEachOtherAtTheStore() {
    String first = lease(64, 10, 4_010);
    ends(first, 20);
    String second = lease(65, 30, 4_010);
    extended(second, 100, 4_090);
    ends(second, 100);
    extended(first, 100, 4_090);
    assertEquals(List.of(), verdict().findings());
    assertEquals(1, verdict().operations().handedOver());
  }

  @Test
  void aLossThatIsToldInTimeIsRight() {
    reported(lease(64, 10, 2_000), 3_900);
    Verdict verdict = verdict();
    assertEquals(List.of(), verdict.findings());
    assertEquals(1, verdict.operations().lost());
    assertEquals(1, verdict.operations().reported());
  }

  @Test
  void aLossThatIsToldLateIsFound() {
    reported(lease(64, 10, 2_000), 4_100);
    assertEquals(List.of("LOSS-02"), rules(verdict()));
  }

  @Test
  void aStoppedProcessTellsItsLossesWhenItRunsAgain() {
    reported(lease(64, 3_000, 7_000), 21_000);
    assertEquals(List.of(), verdict().findings());
  }

  @Test
  void aLossThatIsNeverToldIsFound() {
    journal.add(new Entry.LossNotReported(lease(64, 10, 2_000), nanos(2_000)));
    Verdict verdict = verdict();
    assertEquals(List.of("LOSS-02"), rules(verdict));
    assertEquals(1, verdict.operations().lost());
    assertEquals(0, verdict.operations().reported());
  }

  @Test
  void aReleasedLeaseIsNotLost() {
    reported(released(64, 10, 20), 30);
    assertEquals(List.of("LOSS-03"), rules(verdict()));
  }

  @Test
  void lostGuardedWritesAndResidueAreFound() {
    released(64, 10, 20);
    Verdict verdict = verdict(new Writes(5, 0, 1, 5, 0), List.of("key a"));
    assertEquals(List.of("FENCE-04", "REL-03"), rules(verdict));
  }

  @Test
  void lostUnguardedWritesAreWhatTokensAreFor() {
    released(64, 10, 20);
    assertEquals(List.of(), verdict(new Writes(5, 2, 0, 5, 3), List.of()).findings());
  }

  @Test
  void aStormInWhichNobodyGetsALockIsNone() {
    assertEquals(List.of("FAULT-01"), rules(verdict()));
  }

  @Test
  void theSlowestRecoveriesComeFirst() {
    fault(true, 100, 200);
    fault(true, 1_000, 1_500);
    released(64, 210, 220);
    released(128, 2_000, 2_010);
    List<Duration> took = verdict().slowest().stream().map(Recovery::took).toList();
    assertEquals(List.of(Duration.ofMillis(500), Duration.ofMillis(10)), took);
  }
}
