package dev.interlock.tck.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Capability;
import org.junit.jupiter.api.Test;

class ContractTest {
  private static final String RULE =
      """
      # Title
      Some words.
      ### XYZ-01 A rule
      - level: CAP FIFO
      - rule: What holds.
      - why: Because.
      - test: Like this.
      - check: That.
      - without: Nothing.
      ## Next section
      More words.
      """;

  @Test
  void readsARule() {
    ContractRule rule = Contract.parse(RULE).find("XYZ-01").orElseThrow();
    assertEquals(
        new ContractRule(
            "XYZ-01",
            "A rule",
            Capability.FIFO,
            "What holds.",
            "Because.",
            "Like this.",
            "That.",
            "Nothing."),
        rule);
  }

  @Test
  void aFieldMayEndWithAList() {
    String list = RULE.replace("What holds.\n", "What holds:\n  - this;\n  - that.\n");
    assertEquals(
        "What holds:\n  - this;\n  - that.",
        Contract.parse(list).find("XYZ-01").orElseThrow().statement());
  }

  @Test
  void refusesARuleThatIsNotComplete() {
    for (String field : new String[] {"level", "rule", "why", "test", "check", "without"}) {
      String incomplete = RULE.replaceAll("- " + field + ": .*\\n", "");
      IllegalArgumentException e =
          assertThrows(IllegalArgumentException.class, () -> Contract.parse(incomplete));
      assertTrue(
          e.getMessage().contains(field) && e.getMessage().contains("XYZ-01"), e::getMessage);
    }
  }

  @Test
  void refusesWhatItDoesNotUnderstand() {
    for (String bad :
        new String[] {
          RULE + RULE,
          RULE.replace("CAP FIFO", "SHOULD"),
          RULE.replace("CAP FIFO", "CAP MAGIC"),
          RULE.replace("XYZ-01", "xyz-1"),
          RULE.replace("- why: ", "why "),
          RULE.replace("- level: ", "  - ")
        }) {
      assertThrows(IllegalArgumentException.class, () -> Contract.parse(bad), bad);
    }
  }
}
