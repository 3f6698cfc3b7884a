package dev.interlock.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.redlock.MembershipModel.Rule;
import dev.interlock.redlock.MembershipModel.Step;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Clients that list different nodes, in every order of events, within bounds, and what happens
 * without the rules. About 100,000 states each time.
 */
class MembershipModelTest {

  /** One of them looks once, the other one twice; twice each are 8 million states. */
  private static MembershipModel model(List<Rule> rules) {
    return new MembershipModel(rules, 1, 2);
  }

  @Test
  void clientsWithDifferentNodesDoNotHaveTwoMajorities() {
    Exploration.Result<Step> result = Exploration.explore(model(List.of(Rule.values())));
    assertEquals(Optional.empty(), result.counterExample());
    assertTrue(result.states() > 50_000, () -> "only " + result.states() + " states");
  }

  @ParameterizedTest
  @EnumSource(Rule.class)
  void withoutTheRuleTheyDo(Rule left) {
    List<Rule> rules = new ArrayList<>(List.of(Rule.values()));
    rules.remove(left);
    assertTrue(Exploration.isBroken(model(rules)));
  }
}
