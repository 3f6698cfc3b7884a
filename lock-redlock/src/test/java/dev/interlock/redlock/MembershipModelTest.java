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
 * Explores two clients that list different nodes, in every order of events within bounds, with all
 * rules and without each.
 */
class MembershipModelTest {

  @Test
  void clientsWithDifferentNodesDoNotHaveTwoMajorities() {
    Exploration.Result<Step> result =
        Exploration.explore(new MembershipModel(List.of(Rule.values())));
    assertEquals(Optional.empty(), result.counterExample());
    assertTrue(result.states() > 100, () -> "only " + result.states() + " states");
  }

  @ParameterizedTest
  @EnumSource(Rule.class)
  void withoutTheRuleTheyDo(Rule left) {
    List<Rule> rules = new ArrayList<>(List.of(Rule.values()));
    rules.remove(left);
    assertTrue(Exploration.isBroken(new MembershipModel(rules)));
  }
}
