package dev.interlock.peers;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.mapping;
import static java.util.stream.Collectors.toList;

import dev.interlock.peers.RunResult.RuleOutcome;
import dev.interlock.peers.Verdict.Cell;
import dev.interlock.tck.report.RuleResult.Outcome;
import dev.interlock.tck.run.Contract;
import dev.interlock.tck.run.ContractRule;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/** Generates {@code docs/peers-all.md} from the recorded results. */
final class PeersPage {
  private record Result(ContractRule rule, PeerHarness peer, RuleOutcome found, Verdict verdict) {}

  /** Matches a URL; group 1 is the host, group 2 the page or the issue. */
  private static final String LINK =
      "https://([^/]+)/(?:.*?/)??((?:(?:issues|pull)/)?[^/]+?)(?:\\.(?:html|md))?/?$";

  private final Path directory;
  private final Map<PeerHarness, RunResult> runs = new LinkedHashMap<>();
  private final List<Result> results = new ArrayList<>();
  private final StringBuilder text = new StringBuilder();

  PeersPage(Path directory) throws IOException {
    this.directory = directory;
    for (PeerHarness peer : Peers.all()) {
      runs.put(peer, RunResult.read(directory.resolve(peer.key() + ".tsv")));
    }
    for (ContractRule rule : Contract.load().rules()) {
      runs.forEach(
          (peer, run) -> {
            RuleOutcome found = run.forRule(rule.id());
            results.add(new Result(rule, peer, found, Verdict.of(peer, rule.id(), found)));
          });
    }
  }

  String markdown() throws IOException {
    try (InputStream introduction =
        Objects.requireNonNull(PeersPage.class.getResourceAsStream("introduction.md"))) {
      text.append(new String(introduction.readAllBytes(), UTF_8));
    }
    locks();
    rules();
    findings();
    noVerdict();
    notOffered();
    return text.toString();
  }

  private void locks() {
    text.append("\n## Locks\n\n| lock | tested | kept | kept in part | broken | no verdict |");
    text.append(" not offered | not tested | – |\n" + "|---".repeat(9) + "|\n");
    runs.forEach(
        (peer, run) -> {
          String setUp = text.indexOf(run.setUp()) < 0 ? run.setUp() : "as above";
          text.append("| " + peer.name() + " | " + setUp + " |");
          for (Cell cell : Cell.values()) {
            text.append(" " + results(cell).filter(r -> r.peer == peer).count() + " |");
          }
          text.append("\n");
        });
  }

  private Stream<Result> results(Cell cell) {
    return results.stream().filter(result -> result.verdict.cell() == cell);
  }

  /** Lists the rules. Those that could be tested with no lock share a row if their cells agree. */
  private void rules() {
    text.append("\n## Rules\n\n| rule");
    runs.keySet().forEach(peer -> text.append(" | " + peer.name()));
    text.append(" |\n" + "|---".repeat(1 + runs.size()) + "|\n");
    Map<String, List<ContractRule>> untested = new LinkedHashMap<>();
    results.stream()
        .collect(groupingBy(Result::rule, LinkedHashMap::new, toList()))
        .forEach(
            (rule, results) -> {
              String cells = results.stream().map(PeersPage::cell).collect(joining(" | "));
              if (cells.matches("(not offered|not tested|–|[ |])+")) {
                untested.computeIfAbsent(cells, c -> new ArrayList<>()).add(rule);
              } else {
                row(List.of(rule), cells);
              }
            });
    untested.forEach((cells, rules) -> row(rules, cells));
  }

  private void row(List<ContractRule> rules, String cells) {
    String ids = rules.stream().map(ContractRule::id).collect(joining(", "));
    String title = rules.size() == 1 ? " " + rules.get(0).title() : "";
    text.append("| " + ids + title + " | " + cells + " |\n");
  }

  private static String cell(Result result) {
    StringBuilder cell = new StringBuilder(result.verdict.cell().words());
    for (int i = 0; i < Finding.ALL.size(); i++) {
      if (Finding.ALL.get(i).isAbout(result.peer, result.rule.id())) {
        cell.append(" [%1$d](#finding-%1$d)".formatted(i + 1));
      }
    }
    return cell.toString();
  }

  private void findings() throws IOException {
    text.append("\n## What is broken\n");
    for (Finding finding : Finding.ALL) {
      text.append("\n### Finding " + (Finding.ALL.indexOf(finding) + 1) + "\n\n");
      String title = "**" + finding.title() + "**\n";
      messages(title, "- ", results(Cell.BROKEN).filter(r -> finding.isAbout(r.peer, r.rule.id())));
      text.append("\n" + finding.meaning() + "\n\nDocumented behaviour: " + finding.documented());
      Stream<String> links = finding.links().stream().map(u -> u.replaceFirst(LINK, "[$1 $2]($0)"));
      text.append(" " + links.collect(joining(", ")) + "\n\n");
      String output = Files.readString(directory.resolve(finding.program() + ".txt"), UTF_8);
      text.append("`" + finding.program() + "` prints:\n\n```text\n" + output + "```\n");
    }
  }

  /** Lists the kit's messages, each with the locks to which it applies. */
  private void messages(String title, String bullet, Stream<Result> results) {
    text.append(title + "\n");
    results
        .collect(
            groupingBy(
                result -> result.rule.id() + ": " + message(result.found),
                LinkedHashMap::new,
                mapping(result -> result.peer.name(), joining(", "))))
        .forEach((message, locks) -> text.append(bullet + message + " (" + locks + ")\n"));
  }

  /** {@return the shortest message of the tests of a rule} */
  private static String message(RuleOutcome found) {
    if (found.outcome() != Outcome.FAILED) {
      return "the kit did not detect it";
    }
    String script = ", is non-idempotent command.*?R:[\\d./:]+\\]";
    String shortest =
        Stream.of(found.reason().replaceAll(script, "").split("; "))
            .map(message -> message.replaceAll(" ==> .*", ""))
            .filter(message -> message.length() > 10)
            .min(Comparator.comparing(String::length))
            .orElseThrow();
    return shortest
        .replaceAll("\\b([a-z0-9]+\\.)+(?=[A-Z])", "")
        .replaceAll("LockUnavailableException: (lock \"[^\"]*\": )?[^:]* at [\\d.:,]+: ", "")
        .replaceAll("tck-[0-9a-z]+-\\d+n", "NAME")
        .replace("`", "'")
        .replaceAll("^(.{200}).*$", "$1…")
        .replaceAll("^|$", "`");
  }

  private void noVerdict() {
    text.append("\n## No verdict\n\nThe reasons, each with the kit's messages.\n\n");
    results(Cell.NO_VERDICT)
        .collect(groupingBy(result -> result.verdict.reason(), LinkedHashMap::new, toList()))
        .forEach((reason, results) -> messages("- " + reason, "  - ", results.stream()));
  }

  private void notOffered() {
    Map<String, List<Result>> byOperation = new LinkedHashMap<>();
    results(Cell.NOT_OFFERED)
        .forEach(
            result -> {
              for (String operation : result.verdict.reason().split("; ")) {
                byOperation.computeIfAbsent(operation, o -> new ArrayList<>()).add(result);
              }
            });
    text.append("\n## Not offered\n\n");
    text.append(
        "Each row names the locks and the rules of the cells \"not offered\" with this reason. ");
    text.append(
        "Not each of these locks left each of these rules untested, and others may lack the ");
    text.append("operation, too.\n\n| missing operation, or other reason | locks | rules |");
    text.append("\n|---|---|---|\n");
    byOperation.forEach(
        (operation, results) -> {
          Stream<String> ids = results.stream().map(result -> result.rule.id()).distinct();
          text.append("| " + operation + " | " + locks(results) + " | ");
          text.append(ids.collect(joining(", ")) + " |\n");
        });
  }

  private String locks(List<Result> results) {
    Set<PeerHarness> others = new HashSet<>(runs.keySet());
    results.forEach(result -> others.remove(result.peer));
    boolean mostLackIt = others.size() < runs.size() / 2;
    Stream<PeerHarness> named =
        runs.keySet().stream().filter(p -> others.contains(p) == mostLackIt);
    String names = named.map(PeerHarness::name).collect(joining(", "));
    return others.isEmpty() ? "all" : mostLackIt ? "all but " + names : names;
  }
}
