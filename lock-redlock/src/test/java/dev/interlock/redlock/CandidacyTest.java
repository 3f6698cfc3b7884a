package dev.interlock.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.redlock.Candidacy.Outcome;
import dev.interlock.redlock.Vote.Busy;
import dev.interlock.redlock.Vote.Granted;
import dev.interlock.redlock.Vote.Lapsed;
import dev.interlock.redlock.Vote.TimedOut;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How votes are counted. */
class CandidacyTest {

  private static final List<Vote> VOTES =
      List.of(new Granted(7, 0), new Granted(8, 0), new Busy("other", 100), new TimedOut());

  /** Every combination of votes of five nodes, and every number of them that has come. */
  @Test
  void whateverTheVotesNothingIsElectedWithoutAMajorityOfOneToken() {
    for (int code = 0; code < 1 << 10; code++) {
      Candidacy candidacy = new Candidacy(5);
      for (int node = 0; node < 5; node++) {
        candidacy.vote(node, VOTES.get((code >> (2 * node)) & 3));
        long token = candidacy.token();
        int agreeing = 0;
        int granted = 0;
        int answered = 0;
        boolean contested = false;
        for (int voter = 0; voter <= node; voter++) {
          Vote vote = candidacy.vote(voter);
          agreeing += vote instanceof Granted grant && grant.fence() == token ? 1 : 0;
          granted += vote instanceof Granted ? 1 : 0;
          answered += vote instanceof TimedOut ? 0 : 1;
          contested |= vote instanceof Busy;
        }
        assertEquals(granted >= 3, token != 0);
        Outcome outcome = candidacy.outcome();
        assertEquals(agreeing >= 3, outcome == Outcome.ELECTED);
        if (granted + 4 - node < 3) {
          boolean known = node == 4 || answered + 4 - node < 3;
          assertEquals(
              contested && answered >= 3
                  ? Outcome.BUSY
                  : known ? Outcome.UNAVAILABLE : Outcome.OPEN,
              outcome);
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3, 5, 7})
  void equalFencesElectAsSoonAsAMajorityIsIn(int nodes) {
    Candidacy candidacy = new Candidacy(nodes);
    for (int node = 0; node < Candidacy.majorityOf(nodes); node++) {
      assertEquals(Outcome.OPEN, candidacy.outcome());
      candidacy.vote(node, new Granted(42, 0));
    }
    assertEquals(Outcome.ELECTED, candidacy.outcome());
    assertEquals(42, candidacy.token());
    assertEquals(List.of(), candidacy.toBeTold());
  }

  @Test
  void nodesBelowTheTokenAreToldOnceAndHaveToConfirm() {
    Candidacy candidacy = new Candidacy(3);
    candidacy.vote(0, new Granted(5, 0));
    candidacy.vote(1, new Granted(9, 0));
    assertEquals(9, candidacy.token());
    assertEquals(List.of(0), candidacy.toBeTold());
    assertEquals(List.of(), candidacy.toBeTold());
    assertEquals(Outcome.OPEN, candidacy.outcome());
    candidacy.confirmed(0);
    assertEquals(Outcome.ELECTED, candidacy.outcome());
  }

  @Test
  void aLateGrantAboveTheTokenDoesNotCountAndIsStillAHolder() {
    Candidacy candidacy = new Candidacy(3);
    candidacy.vote(0, new Granted(5, 0));
    candidacy.vote(1, new Granted(9, 0));
    candidacy.vote(2, new Granted(10, 0));
    assertEquals(9, candidacy.token());
    assertEquals(Outcome.OPEN, candidacy.outcome());
    assertEquals(List.of(0), candidacy.toBeTold());
    assertTrue(candidacy.holders().contains(2));
    candidacy.notConfirmed(0, new Lapsed());
    assertEquals(Outcome.UNAVAILABLE, candidacy.outcome());
  }

  @Test
  void aSplitVoteHasNoHolderWhoseEndCouldBeWaitedFor() {
    Candidacy candidacy = new Candidacy(5);
    candidacy.vote(0, new Granted(5, 0));
    candidacy.vote(1, new Busy("one", 900));
    candidacy.vote(2, new Busy("one", 900));
    candidacy.vote(3, new Busy("two", 800));
    candidacy.vote(4, new Busy("two", 800));
    assertEquals(Outcome.BUSY, candidacy.outcome());
    assertEquals(-1, candidacy.busyMillis());
  }

  @Test
  void aHeldLockIsBusyAlsoWhereADeadNodeIsTheFirstToBeHeardOf() {
    Candidacy candidacy = new Candidacy(3);
    candidacy.vote(0, new TimedOut());
    candidacy.vote(1, new Busy("one", 100));
    assertEquals(Outcome.OPEN, candidacy.outcome());
    candidacy.vote(2, new Busy("one", 100));
    assertEquals(Outcome.BUSY, candidacy.outcome());
  }

  @Test
  void aHolderIsWaitedForUntilAMajorityMayBeFree() {
    Candidacy candidacy = new Candidacy(3);
    candidacy.vote(0, new Busy("one", 300));
    candidacy.vote(1, new Busy("one", 100));
    assertEquals(Outcome.BUSY, candidacy.outcome());
    candidacy.vote(2, new Busy("one", 200));
    assertEquals(200, candidacy.busyMillis());
  }
}
