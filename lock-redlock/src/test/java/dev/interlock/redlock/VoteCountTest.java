package dev.interlock.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.redlock.Vote.Busy;
import dev.interlock.redlock.Vote.Granted;
import dev.interlock.redlock.Vote.TimedOut;
import dev.interlock.redlock.VoteCount.Outcome;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The counting of votes. */
class VoteCountTest {

  private static final List<Vote> VOTES =
      List.of(new Granted(7, 0), new Granted(8, 0), new Busy("other", 100), new TimedOut());

  /** Every combination of votes of five nodes, and every number of them that has come. */
  @Test
  void whateverTheVotesNothingIsElectedWithoutAMajorityOfOneToken() {
    for (int code = 0; code < 1 << 10; code++) {
      VoteCount count = new VoteCount(5);
      for (int node = 0; node < 5; node++) {
        count.vote(node, VOTES.get((code >> (2 * node)) & 3));
        long token = count.token();
        int agreeing = 0;
        int granted = 0;
        int answered = 0;
        boolean contested = false;
        for (int voter = 0; voter <= node; voter++) {
          Vote vote = count.vote(voter);
          agreeing += vote instanceof Granted grant && grant.fence() == token ? 1 : 0;
          granted += vote instanceof Granted ? 1 : 0;
          answered += vote instanceof TimedOut ? 0 : 1;
          contested |= vote instanceof Busy;
        }
        assertEquals(granted >= 3, token != 0);
        Outcome outcome = count.outcome();
        assertEquals(agreeing >= 3, outcome == Outcome.ACQUIRED);
        if (granted + 4 - node < 3) {
          boolean isDecided = node == 4 || answered + 4 - node < 3;
          assertEquals(
              contested && answered >= 3
                  ? Outcome.BUSY
                  : isDecided ? Outcome.UNAVAILABLE : Outcome.OPEN,
              outcome);
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3, 5, 7})
  void equalFencesElectAsSoonAsAMajorityIsIn(int nodes) {
    VoteCount count = new VoteCount(nodes);
    for (int node = 0; node < VoteCount.majorityOf(nodes); node++) {
      assertEquals(Outcome.OPEN, count.outcome());
      count.vote(node, new Granted(42, 0));
    }
    assertEquals(Outcome.ACQUIRED, count.outcome());
    assertEquals(42, count.token());
    assertEquals(List.of(), count.toConfirm());
  }

  @Test
  void nodesBelowTheTokenAreToldOnceAndHaveToConfirm() {
    VoteCount count = new VoteCount(3);
    count.vote(0, new Granted(5, 0));
    count.vote(1, new Granted(9, 0));
    assertEquals(9, count.token());
    assertEquals(List.of(0), count.toConfirm());
    assertEquals(List.of(), count.toConfirm());
    assertEquals(Outcome.OPEN, count.outcome());
    count.confirm(0);
    assertEquals(Outcome.ACQUIRED, count.outcome());
  }

  @Test
  void aLateGrantAboveTheTokenDoesNotCountAndIsStillAHolder() {
    VoteCount count = new VoteCount(3);
    count.vote(0, new Granted(5, 0));
    count.vote(1, new Granted(9, 0));
    count.vote(2, new Granted(10, 0));
    assertEquals(9, count.token());
    assertEquals(Outcome.OPEN, count.outcome());
    assertEquals(List.of(0), count.toConfirm());
    assertTrue(count.holders().contains(2));
    count.reject(0, new Vote.Lost());
    assertEquals(Outcome.UNAVAILABLE, count.outcome());
  }

  @Test
  void aSplitVoteHasNoHolderWhoseEndCouldBeWaitedFor() {
    VoteCount count = new VoteCount(5);
    count.vote(0, new Granted(5, 0));
    count.vote(1, new Busy("one", 900));
    count.vote(2, new Busy("one", 900));
    count.vote(3, new Busy("two", 800));
    count.vote(4, new Busy("two", 800));
    assertEquals(Outcome.BUSY, count.outcome());
    assertNull(count.holder());
  }

  @Test
  void aHeldLockIsBusyAlsoWhereADeadNodeIsTheFirstToBeHeardOf() {
    VoteCount count = new VoteCount(3);
    count.vote(0, new TimedOut());
    count.vote(1, new Busy("one", 100));
    assertEquals(Outcome.OPEN, count.outcome());
    count.vote(2, new Busy("one", 100));
    assertEquals(Outcome.BUSY, count.outcome());
  }

  @Test
  void aHolderIsWaitedForUntilAMajorityMayBeFree() {
    VoteCount count = new VoteCount(3);
    count.vote(0, new Busy("one", 300));
    count.vote(1, new Busy("one", 100));
    assertEquals(Outcome.BUSY, count.outcome());
    count.vote(2, new Busy("one", 200));
    assertEquals(new VoteCount.Holder("one", 200), count.holder());
  }
}
