package dev.interlock.tck.specimen;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.interlock.tck.run.Contract;
import dev.interlock.tck.run.ContractRule;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Every rule refuses at least one specimen. The test reads the document instead of the code, since
 * specimens belong to several modules; each module's tests check its part of the document.
 */
class SpecimenCoverageTest {
  static final Path DOCUMENT = Path.of("../docs/specimens.md");

  @Test
  void everyMustRuleRefusesASpecimen() throws IOException {
    assertEquals(List.of(), rulesThatRefuseNothing(true), "MUST rules that refuse no specimen");
  }

  @Test
  void everyRuleAboutACapabilityRefusesASpecimen() throws IOException {
    assertEquals(List.of(), rulesThatRefuseNothing(false), "CAP rules that refuse no specimen");
  }

  private static List<String> rulesThatRefuseNothing(boolean must) throws IOException {
    Set<String> refusing = SpecimenTable.rulesThatRefuse(DOCUMENT);
    return Contract.load().rules().stream()
        .filter(rule -> must == (rule.capability() == null))
        .map(ContractRule::id)
        .filter(rule -> !refusing.contains(rule))
        .toList();
  }
}
