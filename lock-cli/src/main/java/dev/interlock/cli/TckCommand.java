package dev.interlock.cli;

import dev.interlock.tck.Harness;
import dev.interlock.tck.run.Tck;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Tests a backend against the contract. */
@Command(
    name = "tck",
    description = {
      "Test a backend against the lock contract.",
      "",
      "For some minutes, tck acquires, loses and breaks locks on the store of the URI. It connects"
          + " through its own proxy, which cuts and delays connections, and reports the result of"
          + " each rule. Use a store that nothing else uses during the test."
    },
    footer = {
      "",
      "@|bold Exit codes:|@",
      "    0  no rule failed; the last line says whether all were tested",
      "    1  at least one rule failed",
      "    2  could not run: no such backend, no server, no such rule"
    })
final class TckCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;

  @Parameters(
      paramLabel = "URI",
      converter = UriArgument.class,
      description = "The store to test on.")
  private String uri;

  @Option(
      names = "--rules",
      paramLabel = "RULE",
      split = ",",
      description =
          "Test only these rules of docs/contract.md, such as 'EXCL-*,WAIT-03'. Default: all.")
  private List<String> rules = new ArrayList<>();

  @Option(
      names = "--connections",
      paramLabel = "N",
      description =
          "The connections that the store allows, at least 60. With fewer than 100, fewer tests run"
              + " at once. Default: ${DEFAULT-VALUE}.")
  private int connections = Harness.DEFAULT_MAX_CONNECTIONS;

  @Option(
      names = "--report",
      paramLabel = "DIR",
      description = "Write report.md, report.json and a JUnit XML file to this directory.")
  private @Nullable Path report;

  @Override
  public Integer call() {
    return new Tck(
            uri,
            rules,
            connections,
            report,
            spec.commandLine().getOut(),
            spec.commandLine().getErr())
        .run();
  }
}
