package dev.interlock.peers;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.peers.Verdict.Cell;
import dev.interlock.report.Table;
import dev.interlock.tck.report.RuleResult.Outcome;
import dev.interlock.tck.run.Contract;
import dev.interlock.tck.run.ContractRule;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Generates {@code docs/peers.md} from the recorded results. */
final class PeersPage {
  private static final int MAX_MESSAGE_LENGTH = 200;

  private final Path results;
  private final List<ContractRule> rules = Contract.load().rules();
  private final Map<PeerHarness, RunResult> runs = new LinkedHashMap<>();
  private final List<PeerHarness> missing = new ArrayList<>();
  private final StringBuilder text = new StringBuilder();

  PeersPage(Path results) throws IOException {
    this.results = results;
    for (PeerHarness peer : Peers.all()) {
      Path file = results.resolve(peer.key() + ".tsv");
      if (Files.exists(file)) {
        runs.put(peer, RunResult.read(file));
      } else {
        missing.add(peer);
      }
    }
  }

  private Verdict verdict(PeerHarness peer, String rule) {
    return Verdict.of(peer, rule, Objects.requireNonNull(runs.get(peer)).forRule(rule));
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

  private void table(String title, List<String> head, List<List<String>> rows) {
    text.append("\n## " + title + "\n\n");
    text.append(new Table(head, rows, List.of()).words().markdown());
  }

  private void locks() {
    List<List<String>> rows = new ArrayList<>();
    runs.forEach(
        (peer, run) ->
            rows.add(
                List.of(
                    peer.name(),
                    run.setUp(),
                    count(peer, Cell.KEPT) + " + " + count(peer, Cell.PARTLY) + " in part",
                    "" + count(peer, Cell.BROKEN),
                    "" + count(peer, Cell.NO_VERDICT),
                    "" + count(peer, Cell.NOT_OFFERED))));
    missing.forEach(peer -> rows.add(List.of(peer.name(), "not yet tested", "", "", "", "")));
    table("Locks", List.of("lock", "tested", "kept", "broken", "no verdict", "not offered"), rows);
  }

  private long count(PeerHarness peer, Cell cell) {
    return rules.stream().filter(rule -> verdict(peer, rule.id()).cell() == cell).count();
  }

  private void rules() {
    List<String> head = new ArrayList<>(List.of("rule"));
    runs.keySet().forEach(peer -> head.add(peer.name()));
    List<List<String>> rows = new ArrayList<>();
    for (ContractRule rule : rules) {
      List<String> row = new ArrayList<>(List.of(rule.id() + " " + rule.title()));
      for (PeerHarness peer : runs.keySet()) {
        StringBuilder cell = new StringBuilder(verdict(peer, rule.id()).cell().words());
        for (Finding finding : Finding.ALL) {
          if (finding.isAbout(peer, rule.id())) {
            int number = Finding.ALL.indexOf(finding) + 1;
            cell.append(" [" + number + "](#finding-" + number + ")");
          }
        }
        row.add(cell.toString());
      }
      rows.add(row);
    }
    table("Rules", head, rows);
  }

  private void findings() throws IOException {
    text.append("\n## What is broken\n");
    for (Finding finding : Finding.ALL) {
      text.append("\n### Finding " + (Finding.ALL.indexOf(finding) + 1));
      text.append("\n\n**" + finding.title() + "**\n\n");
      for (PeerHarness peer : runs.keySet()) {
        if (finding.peers().contains(peer.key())) {
          text.append("- ").append(peer.name()).append("\n");
          for (String rule : finding.rules()) {
            RunResult.RuleOutcome found = runs.get(peer).forRule(rule);
            boolean seen = found.outcome() == Outcome.FAILED;
            text.append("  - ").append(rule).append(": ");
            text.append(seen ? "`" + shortest(found.reason()) + "`" : "the kit did not detect it");
            text.append("\n");
          }
        }
      }
      text.append("\n").append(finding.meaning()).append("\n\n");
      text.append("Documented behaviour: ").append(finding.documented()).append(" ");
      text.append(
          String.join(
              ", ",
              finding.links().stream().map(link -> "[" + host(link) + "](" + link + ")").toList()));
      text.append("\n\n`").append(finding.program()).append("` prints:\n\n```text\n");
      Path output = results.resolve(finding.program() + ".txt");
      text.append(Files.exists(output) ? Files.readString(output, UTF_8) : "not run yet\n");
      text.append("```\n");
    }
  }

  private static String host(String link) {
    String[] parts = link.replaceFirst("https://", "").split("/");
    String last = parts[parts.length - 1].replaceFirst("\\.(html|md)$", "");
    String kind = link.contains("/pull/") ? "pull request " : "issue ";
    return last.matches("\\d+") ? kind + last : parts[0] + " " + last;
  }

  /** {@return the shortest message of the tests of a rule} */
  private static String shortest(String reason) {
    String shortest = reason;
    for (String message : reason.split("; ")) {
      boolean whole = message.length() > 10 && !message.contains("KEYS[");
      if (whole && message.length() < shortest.length()) {
        shortest = message;
      }
    }
    String plain =
        shortest
            .replaceAll("dev\\.interlock\\.|java\\.lang\\.|java\\.util\\.concurrent\\.", "")
            .replaceAll("lock \"tck-[^\"]*\": ", "")
            .replaceAll("tck-[0-9a-z]+-\\d+n", "NAME")
            .replaceAll(" at 127\\.0\\.0\\.1:\\d+(,127\\.0\\.0\\.1:\\d+)*", "")
            .replaceAll(" ==> .*", "")
            .replace("`", "'");
    return plain.length() > MAX_MESSAGE_LENGTH
        ? plain.substring(0, MAX_MESSAGE_LENGTH) + "…"
        : plain;
  }

  private void noVerdict() {
    List<List<String>> rows = new ArrayList<>();
    runs.forEach(
        (peer, run) -> {
          for (ContractRule rule : rules) {
            Verdict verdict = verdict(peer, rule.id());
            RunResult.RuleOutcome found = run.rules().get(rule.id());
            if (verdict.cell() == Cell.NO_VERDICT && found != null) {
              String said = "`" + shortest(found.reason()) + "`";
              rows.add(List.of(peer.name(), rule.id(), said, verdict.reason()));
            }
          }
        });
    table(
        "No verdict", List.of("lock", "rule", "what the kit said", "why this is no verdict"), rows);
  }

  private void notOffered() {
    text.append("\n## Not offered\n\n");
    text.append(
        "The missing operations, or other reasons, and the rules that could not be tested fully"
            + " because of them.\n");
    for (PeerHarness peer : runs.keySet()) {
      Map<String, List<String>> byReason = new LinkedHashMap<>();
      for (ContractRule rule : rules) {
        Verdict verdict = verdict(peer, rule.id());
        if (verdict.cell() == Cell.NOT_OFFERED) {
          byReason.computeIfAbsent(verdict.reason(), reason -> new ArrayList<>()).add(rule.id());
        }
      }
      text.append("\n**" + peer.name() + "**\n\n");
      byReason.forEach(
          (reason, ids) -> text.append("- " + reason + ": " + String.join(", ", ids) + "\n"));
    }
  }
}
