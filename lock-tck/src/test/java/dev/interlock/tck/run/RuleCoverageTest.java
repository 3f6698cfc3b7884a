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
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** The contract and the kit agree. */
class RuleCoverageTest {
  private final Contract contract = Contract.load();
  private final List<Method> tests = tests();

  private static List<Method> tests() {
    List<Method> tests = new ArrayList<>();
    for (Class<?> section : LockTck.class.getDeclaredClasses()) {
      if (section.isAnnotationPresent(Nested.class)) {
        for (Method method : section.getSuperclass().getDeclaredMethods()) {
          if (method.isAnnotationPresent(Test.class)) {
            tests.add(method);
          }
        }
      }
    }
    return tests;
  }

  private static List<String> rules(Method test) {
    Rule rule = test.getAnnotation(Rule.class);
    return rule == null ? List.of() : List.of(rule.value());
  }

  private Set<String> tested(boolean absent) {
    return tests.stream()
        .filter(
            test -> {
              Requires requires = test.getAnnotation(Requires.class);
              return (requires != null && requires.absent()) == absent;
            })
        .flatMap(test -> rules(test).stream())
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
    for (Method test : tests) {
      boolean known =
          !rules(test).isEmpty()
              && rules(test).stream().allMatch(id -> contract.find(id).isPresent());
      if (!known) {
        wrong.add(test.getName() + " " + rules(test));
      }
    }
    assertEquals(List.of(), wrong, "tests that name no rule, or one that is not in the contract");
  }

  @Test
  void capabilitiesOfTestsAndRulesAgree() {
    List<String> wrong = new ArrayList<>();
    for (Method test : tests) {
      Requires requires = test.getAnnotation(Requires.class);
      if (requires != null && !requires.absent()) {
        boolean agrees =
            rules(test).stream()
                .map(id -> contract.find(id).orElseThrow())
                .anyMatch(rule -> isAbout(rule, requires.value()));
        if (!agrees) {
          wrong.add(test.getName());
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
