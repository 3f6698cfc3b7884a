package dev.interlock.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.redlock.ShareModel.Rule;
import dev.interlock.redlock.ShareModel.Step;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Explores every order of events of readers and writers: with all rules, and with one left out. */
class ShareModelTest {

  private static void assertSound(String sides, int repeaters) {
    Exploration.Result<Step> result =
        Exploration.explore(new ShareModel(sides, repeaters, List.of(Rule.values())));
    assertEquals(Optional.empty(), result.counterExample());
    assertTrue(result.states() > 5_000, () -> "only " + result.states() + " states");
  }

  @Test
  void readersHaveDifferentTokens() {
    assertSound("RR", 0);
  }

  @Test
  @Tag("extended")
  void readersThatAskAgainHaveDifferentTokens() {
    assertSound("RR", 1);
  }

  @Test
  void writersAreAloneAndTokensRiseFromOneToTheOther() {
    assertSound("RW", 2);
    assertSound("WW", 2);
  }

  @Test
  void theTokenOfAReaderLiesBetweenThoseOfWriters() {
    assertSound("RWW", 0);
  }

  @Test
  @Tag("extended")
  void tokensOfReadersLieBetweenThoseOfWriters() {
    assertSound("RRW", 0);
  }

  private static void assertBroken(String sides, Rule omitted) {
    List<Rule> rules = new ArrayList<>(List.of(Rule.values()));
    rules.remove(omitted);
    assertTrue(Exploration.isBroken(new ShareModel(sides, 0, rules)));
  }

  @Test
  void ifNodesConfirmedATokenForSeveralTwoReadersWouldGetIt() {
    assertBroken("RR", Rule.CONFIRMED_FOR_ONE);
  }

  @Test
  void ifNodesIgnoredOtherClaimsAWriterWouldNotBeAlone() {
    assertBroken("RW", Rule.ROOM);
  }

  @Test
  void ifAWithdrawalLoweredTheFenceOfALaterGrantATokenWouldBeForgotten() {
    assertBroken("RRW", Rule.NO_FENCE_OF_OTHERS_LOWERED);
  }
}
