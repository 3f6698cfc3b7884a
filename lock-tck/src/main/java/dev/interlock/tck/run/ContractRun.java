package dev.interlock.tck.run;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.tck.report.Report;
import dev.interlock.tck.report.RuleResult;
import dev.interlock.tck.report.TestResult;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * A run of the kit that a program starts, instead of JUnit. It runs the same tests as {@link
 * LockTck}, concurrently, and returns their results as data.
 *
 * <pre>{@code
 * ContractRun run = ContractRun.of(harness, List.of("EXCL-*"), List.of(), progress);
 * run.rules().forEach(rule -> System.out.println(rule.rule().id() + " " + rule.outcome()));
 * }</pre>
 *
 * @param rules the result of each requested rule, in the order of the contract
 * @param tests the result of each test, in the order in which they ended
 */
public record ContractRun(List<RuleResult> rules, List<TestResult> tests) {

  /**
   * Holds the results of a run.
   *
   * @param rules the result of each requested rule
   * @param tests the result of each test
   */
  public ContractRun {
    rules = List.copyOf(rules);
    tests = List.copyOf(tests);
  }

  /**
   * Runs the tests of some rules, and waits until they have ended.
   *
   * @param harness gives access to the backend
   * @param rules the rules' identifiers, or {@linkplain Contract#matching patterns} of them
   * @param except identifiers or patterns of rules; tests that name one of them are left out
   * @param progress receives a line for every test that ends
   * @return the results
   * @throws IllegalArgumentException if there is no such rule
   */
  public static ContractRun of(
      Harness harness, List<String> rules, List<String> except, PrintWriter progress) {
    return of(harness, rules, except, progress, Optional.empty());
  }

  /** Creates a run. If a folder is given, the run also writes JUnit's XML report to it. */
  static ContractRun of(
      Harness harness,
      List<String> rules,
      List<String> except,
      PrintWriter progress,
      Optional<Path> junitXml) {
    Contract contract = Contract.load();
    List<String> excluded = contract.matching(except);
    List<String> asked =
        contract.matching(rules).stream().filter(rule -> !excluded.contains(rule)).toList();
    List<TestResult> tests = TckLauncher.run(harness, asked, excluded, progress, junitXml);
    return new ContractRun(Report.byRule(contract, asked, tests), tests);
  }
}
