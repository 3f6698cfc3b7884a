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

  private String releasedLease(long token, long from, long until) {
    String id = lease(token, from, from + 4_000);
    end(id, until);
    journal.add(new Entry.Released(id, "RELEASED"));
    return id;
  }

  private void end(String id, long at) {
    journal.add(new Event.Ended(id, nanos(at)));
  }

  private void extend(String id, long at, long validUntil) {
    journal.add(new Event.Extended(id, nanos(at), nanos(validUntil)));
  }

  private void report(String id, long at) {
    journal.add(new Entry.LossReported(id, nanos(at), "EXPIRED"));
  }

  private void withdraw(long from, long until) {
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
  void leasesOneAfterTheOtherAreNoViolation() {
    releasedLease(64, 10, 20);
    releasedLease(128, 21, 30);
    Verdict verdict = verdict();
    assertEquals(List.of(), verdict.findings());
    assertNull(verdict.counterExample());
    assertEquals(2, verdict.operations().grants());
    assertEquals(2, verdict.operations().released());
  }

  @Test
  void twoValidLeasesAreFoundWithACounterExample() {
    lease(64, 10, 4_010);
    releasedLease(128, 3_000, 3_001);
    Verdict verdict = verdict();
    assertEquals(List.of("EXCL-01"), rules(verdict));
    assertNotNull(verdict.counterExample());
    assertTrue(verdict.counterExample().contains("two leases were valid at once"));
  }

  @Test
  void readersMayHoldAndRenewTogether() {
    String first = lease(Share.READ, 64, 10, 4_010);
    lease(Share.READ, 128, 20, 4_020);
    lease(Share.READ, 65, 30, 4_010);
    extend(first, 1_000, 9_000);
    Verdict verdict = verdict();
    assertEquals(List.of(), verdict.findings());
    assertEquals(3, verdict.operations().shared());
  }

  @Test
  void aReaderBesideAWriterIsFoundBehindOtherReaders() {
    lease(Share.READ, 64, 10, 4_010);
    end(lease(Share.READ, 128, 20, 4_020), 30);
    lease(Share.WRITE, 192, 3_000, 3_001);
    assertEquals(List.of("EXCL-01"), rules(verdict()));
  }

  @Test
  void aWriterThatRenewsAfterAReaderWasGrantedIsFound() {
    String writer = lease(Share.WRITE, 64, 10, 4_010);
    end(writer, 20);
    lease(Share.READ, 128, 3_000, 3_001);
    extend(writer, 3_100, 7_100);
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
  void releasedPermitsAreFree() {
    end(lease(Share.ofSemaphore(2, 3), 64, 10, 4_010), 20);
    lease(Share.ofSemaphore(1, 3), 128, 15, 4_015);
    lease(Share.ofSemaphore(2, 3), 192, 20, 4_020);
    assertEquals(List.of(), rules(verdict()));
  }

  @Test
  void aFaultWithinTheModelExplainsNoOverlap() {
    fault(true, 2_000, 2_500);
    lease(64, 10, 4_010);
    releasedLease(128, 3_000, 3_001);
    assertEquals(List.of("EXCL-01"), rules(verdict()));
  }

  @Test
  void anOverlapAfterAFaultOutsideTheModelIsCountedIfTheTokensExposeIt() {
    fault(false, 2_000, 2_500);
    lease(64, 10, 4_010);
    releasedLease(128, 3_000, 3_001);
    Verdict verdict = verdict();
    assertEquals(List.of(), verdict.findings());
    assertEquals(1, verdict.overlapsOutside());
    assertEquals(1, verdict.overlapsExposed());
  }

  @Test
  void anOverlapThatTheTokensDoNotExposeIsFound() {
    fault(false, 2_000, 2_500);
    lease(64, 10, 4_010);
    releasedLease(64, 3_000, 3_001);
    Verdict verdict = verdict();
    assertTrue(rules(verdict).contains("FENCE-01"), () -> "" + verdict.findings());
    assertEquals(0, verdict.overlapsExposed());
  }

  @Test
  void anOverlapBeforeTheFaultIsFound() {
    fault(false, 3_500, 3_600);
    lease(64, 10, 4_010);
    releasedLease(128, 3_000, 3_001);
    assertEquals(List.of("EXCL-01"), rules(verdict()));
  }

  @Test
  void anOverlapLongAfterTheFaultIsFound() {
    fault(false, 1_000, 2_000);
    String holder = lease(64, 10, 4_010);
    extend(holder, 9_000, 12_500);
    releasedLease(128, 9_000, 9_001);
    assertTrue(rules(verdict()).contains("EXCL-01"));
  }

  @Test
  void aFallingTokenIsFoundUnderAnyFault() {
    fault(false, 15, 5_000);
    releasedLease(128, 10, 20);
    releasedLease(64, 30, 40);
    assertEquals(List.of("FENCE-01"), rules(verdict()));
  }

  @Test
  void aGrantIsAsOldAsThePlaceThatItsThreadTookOver() {
    fault(false, 6, 8);
    withdraw(5, 25);
    releasedLease(128, 10, 20);
    withdraw(24, 35);
    releasedLease(64, 36, 40);
    assertEquals(List.of(), verdict().findings());
  }

  @Test
  void aPlaceWithdrawnBeforeTheRequestExplainsNothing() {
    fault(false, 6, 8);
    withdraw(5, 25);
    releasedLease(128, 10, 20);
    releasedLease(64, 36, 40);
    assertEquals(List.of("FENCE-01"), rules(verdict()));
  }

  @Test
  void aPlaceWithdrawnLongAfterTheGrantExplainsNothing() {
    fault(false, 6, 8);
    withdraw(5, 10_000);
    releasedLease(128, 10, 20);
    releasedLease(64, 36, 40);
    assertEquals(List.of("FENCE-01"), rules(verdict()));
  }

  @Test
  void aRenewalAfterTheSuccessorsGrantIsFoundUnderAnyFault() {
    fault(false, 100, 200);
    String holder = lease(64, 10, 4_010);
    releasedLease(128, 300, 310);
    extend(holder, 1_000, 4_301);
    assertEquals(List.of("LEASE-04"), rules(verdict()));
  }

  @Test
  void twoPrimariesMayEachRenewTheirOwnGrants() {
    fault("fail over", false, 100, 1_000);
    String holder = lease(64, 10, 4_010);
    releasedLease(128, 2_900, 2_910);
    extend(holder, 3_500, 7_100);
    assertEquals(List.of(), verdict().findings());
    releasedLease(192, 3_050, 3_060);
    extend(holder, 3_600, 7_200);
    assertEquals(List.of("LEASE-04"), rules(verdict()));
  }

  @Test
  void aRenewalBeforeTheSuccessorsGrantIsNoViolation() {
    fault(false, 100, 200);
    String holder = lease(64, 10, 4_010);
    extend(holder, 90, 4_085);
    releasedLease(128, 300, 310);
    assertEquals(List.of(), verdict().findings());
  }

  @Test
  void leasesOfOneTurnAreNotSuccessorsOfEachOther() {
    String first = lease(64, 10, 4_010);
    end(first, 20);
    String second = lease(65, 30, 4_010);
    extend(second, 100, 4_090);
    end(second, 100);
    extend(first, 100, 4_090);
    assertEquals(List.of(), verdict().findings());
    assertEquals(1, verdict().operations().handedOver());
  }

  @Test
  void aLossReportedInTimeIsNoViolation() {
    report(lease(64, 10, 2_000), 3_900);
    Verdict verdict = verdict();
    assertEquals(List.of(), verdict.findings());
    assertEquals(1, verdict.operations().lost());
    assertEquals(1, verdict.operations().reported());
  }

  @Test
  void aLossReportedLateIsFound() {
    report(lease(64, 10, 2_000), 4_100);
    assertEquals(List.of("LOSS-02"), rules(verdict()));
  }

  @Test
  void aStoppedProcessMayReportLossesWhenItRunsAgain() {
    report(lease(64, 3_000, 7_000), 21_000);
    assertEquals(List.of(), verdict().findings());
  }

  @Test
  void aLossThatIsNotReportedIsFound() {
    journal.add(new Entry.LossNotReported(lease(64, 10, 2_000), nanos(2_000)));
    Verdict verdict = verdict();
    assertEquals(List.of("LOSS-02"), rules(verdict));
    assertEquals(1, verdict.operations().lost());
    assertEquals(0, verdict.operations().reported());
  }

  @Test
  void aReleasedLeaseThatIsReportedAsLostIsFound() {
    report(releasedLease(64, 10, 20), 30);
    assertEquals(List.of("LOSS-03"), rules(verdict()));
  }

  @Test
  void lostGuardedWritesAndResidueAreFound() {
    releasedLease(64, 10, 20);
    Verdict verdict = verdict(new Writes(5, 0, 1, 5, 0), List.of("key a"));
    assertEquals(List.of("FENCE-04", "REL-03"), rules(verdict));
  }

  @Test
  void lostUnguardedWritesAreNoViolation() {
    releasedLease(64, 10, 20);
    assertEquals(List.of(), verdict(new Writes(5, 2, 0, 5, 3), List.of()).findings());
  }

  @Test
  void aStormWithoutALeaseIsFound() {
    assertEquals(List.of("FAULT-01"), rules(verdict()));
  }

  @Test
  void theSlowestRecoveriesComeFirst() {
    fault(true, 100, 200);
    fault(true, 1_000, 1_500);
    releasedLease(64, 210, 220);
    releasedLease(128, 2_000, 2_010);
    List<Duration> took = verdict().slowest().stream().map(Recovery::took).toList();
    assertEquals(List.of(Duration.ofMillis(500), Duration.ofMillis(10)), took);
  }
}
