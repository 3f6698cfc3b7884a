package dev.interlock.tck.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Capability;
import dev.interlock.tck.LockTck;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.platform.commons.support.AnnotationSupport;
import org.junit.platform.commons.support.HierarchyTraversalMode;
import org.junit.platform.commons.support.ReflectionSupport;

/** Checks that the contract and the kit agree. */
class RuleCoverageTest {
  private final Contract contract = Contract.load();
  private final List<SectionTest> tests = tests();

  /** A test, and the section that has or inherits it. */
  private record SectionTest(Class<?> section, Method method) {
    List<String> rules() {
      return RuleTests.rulesOf(section, method);
    }

    @Nullable Requires requires() {
      return RuleTests.requirementOf(section, method);
    }
  }

  private static List<SectionTest> tests() {
    List<SectionTest> tests = new ArrayList<>();
    for (Class<?> section : LockTck.class.getDeclaredClasses()) {
      if (section.isAnnotationPresent(Nested.class)) {
        ReflectionSupport.findMethods(
                section,
                method -> AnnotationSupport.isAnnotated(method, Test.class),
                HierarchyTraversalMode.TOP_DOWN)
            .forEach(method -> tests.add(new SectionTest(section, method)));
      }
    }
    return tests;
  }

  private Set<String> tested(boolean absent) {
    return tests.stream()
        .filter(
            test -> {
              Requires requires = test.requires();
              return (requires != null && requires.absent()) == absent;
            })
        .flatMap(test -> test.rules().stream())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  @Test
  void theKitHasTests() {
    assertTrue(tests.size() > 100, "found " + tests.size());
    assertTrue(contract.rules().size() > 60, "found " + contract.rules().size());
  }

  @Test
  void everyRuleHasATest() {
    List<String> missing = new ArrayList<>();
    for (ContractRule rule : contract.rules()) {
      if (!tested(false).contains(rule.id())) {
        missing.add(rule.id());
      }
    }
    assertEquals(List.of(), missing, "rules without a test");
  }

  @Test
  void everyRuleAboutACapabilityHasATestForBackendsWithoutIt() {
    List<String> missing = new ArrayList<>();
    for (ContractRule rule : contract.rules()) {
      String without = rule.without();
      if (without != null) {
        String twin =
            without.startsWith("See ") ? without.substring(4, without.length() - 1) : rule.id();
        if (!tested(true).contains(twin)) {
          missing.add(rule.id());
        }
      }
    }
    assertEquals(List.of(), missing, "rules whose absence is not tested");
  }

  @Test
  void everyTestNamesRulesOfTheContract() {
    List<String> wrong = new ArrayList<>();
    for (SectionTest test : tests) {
      boolean namesRules =
          !test.rules().isEmpty()
              && test.rules().stream().allMatch(id -> contract.find(id).isPresent());
      if (!namesRules) {
        wrong.add(test.method().getName() + " " + test.rules());
      }
    }
    assertEquals(List.of(), wrong, "tests that name no rule, or one that is not in the contract");
  }

  @Test
  void capabilitiesOfTestsAndRulesAgree() {
    List<String> wrong = new ArrayList<>();
    for (SectionTest test : tests) {
      Requires requires = test.requires();
      if (requires != null && !requires.absent()) {
        boolean agrees =
            test.rules().stream()
                .map(id -> contract.find(id).orElseThrow())
                .anyMatch(rule -> isAbout(rule, requires.value()));
        if (!agrees) {
          wrong.add(test.method().getName());
        }
      }
    }
    assertEquals(
        List.of(), wrong, "tests that require a capability which none of their rules is about");
  }

  private static boolean isAbout(ContractRule rule, Capability capability) {
    String without = rule.without();
    return rule.capability() == capability
        || (without != null && without.contains("`" + capability + "`"));
  }

  @Test
  void everyRuleClassIsASectionOfTheContract() {
    Set<String> sections =
        Arrays.stream(LockTck.class.getDeclaredClasses())
            .filter(section -> section.isAnnotationPresent(Nested.class))
            .map(section -> section.getSuperclass().getSimpleName())
            .collect(Collectors.toCollection(TreeSet::new));
    assertEquals(15, sections.size(), sections::toString);
  }
}
