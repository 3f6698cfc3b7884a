package dev.interlock.tck.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.tck.history.Event.Ended;
import dev.interlock.tck.history.Event.Extended;
import dev.interlock.tck.history.Event.Granted;
import dev.interlock.tck.history.Violation.Kind;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class HistoryCheckerTest {
  /** The weight of a writer. */
  private static final int ALL = Integer.MAX_VALUE;

  private final List<Event> history = new ArrayList<>();
  private HistoryChecker checker = HistoryChecker.withinFailureModel();

  /** A lease that was requested at its grant by default, and held until {@code validUntil}. */
  private void lease(String lease, long token, long at, long validUntil) {
    lease(lease, token, at, at, validUntil);
  }

  private void lease(String lease, long token, long requestedAt, long at, long validUntil) {
    history.add(new Granted(lease, "a", token, "p1 c1 t1", requestedAt, at, validUntil));
  }

  /** A lease of a share of a name. */
  private void share(String lease, int weight, int capacity, long token, long at, long validUntil) {
    history.add(new Granted(lease, "a", token, "p1 c1 t1", at, at, validUntil, weight, capacity));
  }

  private void reader(String lease, long token, long at, long validUntil) {
    share(lease, 1, ALL, token, at, validUntil);
  }

  private void writer(String lease, long token, long at, long validUntil) {
    share(lease, ALL, ALL, token, at, validUntil);
  }

  private List<Violation> check() {
    return checker.check(history);
  }

  private void assertFound(Kind kind, String first, String second) {
    List<Violation> found = check();
    assertEquals(1, found.size(), found::toString);
    assertEquals(kind, found.get(0).kind());
    assertEquals(first, found.get(0).first().lease());
    assertEquals(second, found.get(0).second().lease());
  }

  private void assertClean() {
    assertEquals(List.of(), check());
  }

  @Nested
  class Shares {
    @Test
    void readersMayOverlap() {
      writer("1", 64, 100, 200);
      reader("2", 128, 200, 400);
      reader("3", 192, 250, 300);
      reader("4", 256, 260, 500);
      writer("5", 320, 500, 600);
      assertClean();
    }

    @Test
    void aWriterMustNotOverlapWithAnyReader() {
      reader("1", 64, 100, 300);
      reader("2", 128, 150, 200);
      writer("3", 192, 250, 400);
      assertFound(Kind.OVERLAP, "1", "3");
      assertTrue(check().get(0).toString().contains("two leases were valid at once"));
    }

    @Test
    void aReaderMustNotOverlapWithAWriter() {
      writer("1", 64, 100, 300);
      reader("2", 128, 299, 400);
      assertFound(Kind.OVERLAP, "1", "2");
    }

    @Test
    void permitsMayAddUpToTheLimit() {
      share("1", 2, 4, 64, 100, 300);
      share("2", 1, 4, 128, 150, 250);
      share("3", 1, 4, 192, 200, 300);
      share("4", 1, 4, 256, 250, 400);
      share("5", 3, 4, 320, 300, 400);
      assertClean();
    }

    @Test
    void onePermitTooManyIsFoundAlthoughNoTwoLeasesExcludeEachOther() {
      share("1", 2, 4, 64, 100, 300);
      share("2", 1, 4, 128, 150, 300);
      share("3", 1, 4, 192, 200, 220);
      share("4", 2, 4, 256, 230, 400);
      assertFound(Kind.OVERLAP, "2", "4");
      assertTrue(check().get(0).toString().contains("more was held at once than the name has"));
    }

    @Test
    void whatOneClientPassesOnHasATokenOfItsGrant() {
      reader("first", 64, 100, 300);
      reader("of another client", 128, 150, 300);
      reader("admitted with the first", 65, 200, 300);
      writer("after them", 192, 300, 400);
      assertClean();
    }

    @Test
    void readersNeedNoOrder() {
      reader("1", 128, 100, 300);
      reader("in the place of one that gave up", 64, 150, 300);
      assertClean();
    }

    @Test
    void aWritersTokenIsHigherThanThoseOfAllReadersBeforeIt() {
      reader("1", 129, 100, 200);
      writer("2", 70, 200, 300);
      assertFound(Kind.TOKEN_WENT_BACK, "1", "2");
    }

    @Test
    void aReadersTokenIsHigherThanThatOfTheWriterBeforeIt() {
      writer("1", 128, 100, 200);
      reader("2", 65, 200, 300);
      assertFound(Kind.TOKEN_WENT_BACK, "1", "2");
    }

    @Test
    void readersMustNotHaveTheSameToken() {
      reader("1", 64, 100, 300);
      reader("2", 64, 200, 300);
      assertFound(Kind.TOKEN_REPEATED, "1", "2");
    }
  }

  @Nested
  class Exclusion {
    @Test
    void leasesThatFollowEachOtherAreExclusive() {
      lease("1", 64, 100, 200);
      lease("2", 128, 200, 300);
      lease("3", 192, 300, 400);
      assertClean();
    }

    @Test
    void twoThatAreValidAtOneMomentOverlap() {
      lease("1", 64, 100, 201);
      lease("2", 128, 200, 300);
      assertFound(Kind.OVERLAP, "1", "2");
    }

    @Test
    void aReleaseEndsTheLeaseBeforeItsValidity() {
      lease("1", 64, 100, 1_000);
      history.add(new Ended("1", 150));
      lease("2", 128, 160, 1_000);
      assertClean();
    }

    @Test
    void theFirstEndCounts() {
      lease("1", 64, 100, 1_000);
      history.add(new Ended("1", 500));
      history.add(new Ended("1", 150));
      lease("2", 128, 160, 1_000);
      assertClean();
    }

    @Test
    void aRenewalProlongsTheLease() {
      lease("1", 64, 100, 200);
      history.add(new Extended("1", 190, 300));
      lease("2", 128, 250, 400);
      assertFound(Kind.OVERLAP, "1", "2");
    }

    @Test
    void aLeaseThatWasOverBeforeItWasNoticedHoldsNothing() {
      lease("1", 64, 100, 500);
      lease("2", 128, 50, 450, 440); // its process was stopped until after its validity
      assertClean();
    }

    @Test
    void otherNamesDoNotMatter() {
      lease("1", 64, 100, 1_000);
      history.add(new Granted("2", "A", 64, "p1 c1 t1", 100, 100, 1_000));
      assertClean();
    }

    @Test
    void eventsMayComeInAnyOrder() {
      lease("1", 64, 100, 1_000);
      history.add(new Ended("1", 150));
      lease("2", 128, 160, 1_000);
      Collections.reverse(history);
      assertClean();
    }

    @Test
    void theClosestPairIsShown() {
      lease("long", 64, 0, 10_000);
      lease("far", 128, 1_000, 2_000);
      lease("near", 192, 1_500, 1_600);
      lease("after", 256, 5_000, 6_000);
      assertFound(Kind.OVERLAP, "far", "near");
    }

    @Test
    void aLeaseThatEnclosesAnotherIsFoundPastThoseBetween() {
      lease("outer", 64, 0, 10_000);
      lease("empty", 128, 10, 10);
      lease("inner", 192, 20, 30);
      assertFound(Kind.OVERLAP, "outer", "inner");
    }

    @Test
    void theMessageShowsBothLeasesAndTheTimesBetween() {
      lease("p1/1", 64, 1_000_000, 3_500_000);
      lease("p2/9", 128, 3_000_000, 4_000_000);
      String message = check().get(0).toString();
      assertTrue(message.contains("lock \"a\": two leases were valid at once"), message);
      assertTrue(message.contains("+2.000000 ms  granted  lease p2/9"), message);
      assertTrue(message.contains("+2.500000 ms  the first ended"), message);
      assertTrue(message.contains("token 128"), message);
    }
  }

  @Nested
  class Tokens {
    @Test
    void oneTokenTwiceIsFound() {
      lease("1", 64, 100, 200);
      lease("2", 128, 200, 300);
      lease("3", 64, 300, 400);
      lease("4", 192, 400, 500);
      List<Violation> found = check();
      assertEquals(List.of(Kind.TOKEN_REPEATED, Kind.TOKEN_WENT_BACK), kinds(found));
      assertEquals("1", found.get(0).first().lease());
      assertEquals("3", found.get(0).second().lease());
    }

    @Test
    void aTokenThatGoesBackIsFound() {
      lease("1", 64, 100, 200);
      lease("2", 192, 200, 300);
      lease("3", 128, 300, 400);
      assertFound(Kind.TOKEN_WENT_BACK, "2", "3");
    }

    @Test
    void aTokenThatGoesBackBetweenWaitersIsFoundByTheOrderOfTheirHolds() {
      lease("1", 192, 0, 100, 200);
      lease("2", 128, 0, 200, 300); // both were queued from the beginning
      assertFound(Kind.TOKEN_WENT_BACK, "1", "2");
    }

    @Test
    void crossedRequestsThatNeverHeldAreNotComparedByTheirGrants() {
      lease("1", 192, 0, 100, 100);
      lease("2", 128, 0, 200, 200);
      assertClean();
    }

    @Test
    void aTokenThatGoesBackAfterALeaseThatWasOverAtOnceIsFound() {
      lease("1", 192, 0, 100, 90);
      lease("2", 128, 150, 200, 300);
      assertFound(Kind.TOKEN_WENT_BACK, "1", "2");
    }

    @Test
    void leasesWithoutTokensAreNotCompared() {
      lease("1", 0, 100, 200);
      lease("2", 0, 200, 300);
      assertClean();
    }
  }

  @Nested
  class OutsideTheFailureModel {
    private void outside() {
      checker = HistoryChecker.outsideFailureModel();
    }

    @Test
    void aTurnThatGoesOnCountsAsGrantedByTheStoreAtItsBeginning() {
      lease("1", 64, 100, 150);
      lease("2", 128, 160, 300); // a successor, granted the lock when the store lost its data
      lease("3", 65, 200, 250); // handed off locally by 1
      assertEquals(List.of(Kind.OVERLAP, Kind.TOKEN_WENT_BACK), kinds(check()));
      outside();
      assertFound(Kind.OVERLAP, "2", "3");
    }

    @Test
    void aTurnOfPermitsThatGoesOnCountsAsGrantedByTheStoreAtItsBeginning() {
      outside();
      share("1", 1, 4, 64, 100, 150);
      share("2", 4, 4, 128, 160, 300); // granted all permits when the store had forced the others
      share("3", 1, 4, 65, 200, 250); // handed off locally by 1
      assertFound(Kind.OVERLAP, "2", "3");
    }

    @Test
    void turnsThemselvesMustRise() {
      outside();
      lease("1", 128, 100, 150);
      lease("2", 64, 160, 300);
      assertFound(Kind.TOKEN_WENT_BACK, "1", "2");
    }

    @Test
    void tokensMustRiseWithinATurn() {
      outside();
      lease("1", 64, 100, 150);
      lease("2", 66, 160, 170);
      lease("3", 65, 180, 190);
      assertFound(Kind.TOKEN_WENT_BACK, "2", "3");
    }

    @Test
    void aTokenOfTwoLeasesIsStillAFault() {
      outside();
      lease("1", 64, 100, 300);
      lease("2", 64, 200, 400);
      assertEquals(List.of(Kind.OVERLAP, Kind.TOKEN_REPEATED), kinds(check()));
    }
  }

  @Nested
  class BadInput {
    @Test
    void anEndWithoutAGrantIsRefused() {
      history.add(new Ended("1", 100));
      assertThrows(IllegalArgumentException.class, HistoryCheckerTest.this::check);
    }

    @Test
    void twoGrantsOfOneLeaseAreRefused() {
      lease("1", 64, 100, 200);
      lease("1", 128, 200, 300);
      assertThrows(IllegalArgumentException.class, HistoryCheckerTest.this::check);
    }

    @Test
    void aGrantBeforeItsRequestIsRefused() {
      lease("1", 64, 101, 100, 200);
      assertThrows(IllegalArgumentException.class, HistoryCheckerTest.this::check);
    }

    @Test
    void anEmptyHistoryIsClean() {
      assertClean();
    }
  }

  private static List<Kind> kinds(List<Violation> found) {
    return found.stream().map(Violation::kind).toList();
  }

  /** Compares every lease with every other, directly by the definitions. */
  private static final class Oracle {
    private record Hold(Granted grant, long end) {
      boolean empty() {
        return end <= grant.at();
      }
    }

    private final List<Hold> holds = new ArrayList<>();

    Oracle(List<Event> history) {
      for (Event event : history) {
        if (event instanceof Granted grant) {
          long validUntil = grant.validUntil();
          long ended = Long.MAX_VALUE;
          for (Event other : history) {
            if (other.lease().equals(grant.lease())) {
              if (other instanceof Extended extended) {
                validUntil = Math.max(validUntil, extended.validUntil());
              } else if (other instanceof Ended) {
                ended = Math.min(ended, other.at());
              }
            }
          }
          holds.add(new Hold(grant, Math.min(validUntil, ended)));
        }
      }
    }

    private interface Wrong {
      boolean test(Hold earlier, Hold later);
    }

    /** {@return the shortest time between the grants of two leases in violation, or -1} */
    private long shortest(Wrong wrong) {
      long shortest = -1;
      for (Hold a : holds) {
        for (Hold b : holds) {
          boolean ordered = a.grant.at() <= b.grant.at();
          if (!a.equals(b)
              && ordered
              && a.grant.name().equals(b.grant.name())
              && wrong.test(a, b)) {
            long distance = b.grant.at() - a.grant.at();
            shortest = shortest < 0 ? distance : Math.min(shortest, distance);
          }
        }
      }
      return shortest;
    }

    long overlap() {
      return shortest((a, b) -> !a.empty() && !b.empty() && a.end > b.grant.at());
    }

    long repeated() {
      return shortest((a, b) -> a.grant.token() == b.grant.token());
    }

    long wentBack() {
      boolean exclusive = overlap() < 0;
      return shortest(
          (a, b) ->
              a.grant.token() > b.grant.token()
                  && (a.grant.at() < b.grant.requestedAt()
                      || (exclusive && !a.empty() && !b.empty() && a.grant.at() < b.grant.at())));
    }
  }

  private static List<Event> randomHistory(Random random) {
    List<Event> events = new ArrayList<>();
    int leases = 1 + random.nextInt(12);
    boolean sane = random.nextBoolean();
    long now = 0;
    for (int i = 0; i < leases; i++) {
      long at = sane ? now + 1 + random.nextInt(4) : 1 + random.nextInt(60);
      long requestedAt = Math.max(0, at - random.nextInt(10));
      long validUntil = at + random.nextInt(12) - 2;
      long token = random.nextInt(8) == 0 ? 1 + random.nextInt(leases) : i + 1;
      String lease = "p/" + i;
      events.add(new Granted(lease, "a", token, "h", requestedAt, at, validUntil));
      if (random.nextInt(3) == 0) {
        validUntil += random.nextInt(8);
        events.add(new Extended(lease, at, validUntil));
      }
      if (random.nextInt(3) == 0) {
        events.add(new Ended(lease, at + random.nextInt(8)));
      }
      now = sane ? Math.max(at, validUntil) : now;
    }
    Collections.shuffle(events, random);
    return events;
  }

  @Test
  void agreesWithComparingEveryPairOnRandomHistories() {
    int dirty = 0;
    int rounds = 30_000;
    for (int seed = 0; seed < rounds; seed++) {
      List<Event> events = randomHistory(new Random(seed));
      List<Violation> found = HistoryChecker.withinFailureModel().check(events);
      Oracle oracle = new Oracle(events);
      int round = seed;
      assertEquals(
          List.of(oracle.overlap(), oracle.repeated(), oracle.wentBack()),
          List.of(
              distance(found, Kind.OVERLAP),
              distance(found, Kind.TOKEN_REPEATED),
              distance(found, Kind.TOKEN_WENT_BACK)),
          () -> "seed " + round + ": " + found);
      dirty += found.isEmpty() ? 0 : 1;
    }
    assertTrue(dirty > rounds / 10 && dirty < rounds * 9 / 10, "violated in " + dirty);
  }

  private static long distance(List<Violation> found, Kind kind) {
    return found.stream()
        .filter(violation -> violation.kind() == kind)
        .mapToLong(Violation::distance)
        .findAny()
        .orElse(-1);
  }

  @Test
  void decidesAHistoryOfAMillionEventsInOneGo() {
    int leases = 500_000;
    for (int i = 0; i < leases; i++) {
      // all were queued from the beginning: the worst case for comparing with requests
      lease("p/" + i, i + 1, 0, i * 10L, i * 10L + 20);
      history.add(new Ended("p/" + i, i * 10L + 10));
    }
    assertClean();
  }
}
