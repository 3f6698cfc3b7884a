package dev.interlock.tck.specimen;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.tck.run.Contract;
import dev.interlock.tck.run.ContractRule;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The table of specimens and rules in a document, generated from the code and checked by the build.
 *
 * <p>Several modules may share one document. Each has its own part, between two comments:
 *
 * <pre>{@code
 * <!-- specimens: my-module -->
 * ...
 * <!-- end of specimens: my-module -->
 * }</pre>
 *
 * <p>With {@code -Dinterlock.specimens.write} a build writes the part again.
 */
public final class SpecimenTable {
  /** The system property that writes the document instead of checking it. */
  static final String WRITE = "interlock.specimens.write";

  private static final Pattern RULE = Pattern.compile("\\b([A-Z]+-[0-9]{2})\\b");

  private final Path document;
  private final String part;

  /**
   * Refers to a part of a document.
   *
   * @param document the file
   * @param part the name of the part
   */
  public SpecimenTable(Path document, String part) {
    this.document = document;
    this.part = part;
  }

  /**
   * Compares the document with the specimens, or writes it if the system property {@code
   * interlock.specimens.write} is set.
   *
   * @param specimens the expected contents of the part
   * @throws IOException if the document cannot be read or written
   * @throws AssertionError if they differ; the message tells how to update the document
   */
  public void check(List<Specimen> specimens) throws IOException {
    String text = Files.readString(document, UTF_8);
    Matcher matcher = part(part).matcher(text);
    if (!matcher.find()) {
      throw new AssertionError(
          document + " has no part between the comments \"specimens: " + part + "\"");
    }
    String expected = "\n\n" + markdown(specimens) + "\n";
    if (matcher.group(1).equals(expected)) {
      return;
    }
    if (System.getProperty(WRITE) == null) {
      throw new AssertionError(
          document
              + ": the part \""
              + part
              + "\" does not match the code; run its specimens with -D"
              + WRITE
              + " to update it");
    }
    Files.writeString(
        document, text.substring(0, matcher.start(1)) + expected + text.substring(matcher.end(1)));
  }

  /**
   * {@return the rules that refuse at least one specimen of any part of a document}
   *
   * @param document the file
   * @throws IOException if the document cannot be read
   */
  public static Set<String> rulesThatRefuse(Path document) throws IOException {
    Set<String> rules = new LinkedHashSet<>();
    Matcher parts = part("[^\\n]*").matcher(Files.readString(document, UTF_8));
    while (parts.find()) {
      for (String line : parts.group(1).lines().toList()) {
        if (line.startsWith("| ")) {
          Matcher matcher = RULE.matcher(line.substring(line.lastIndexOf("| ", line.length() - 3)));
          while (matcher.find()) {
            rules.add(matcher.group(1));
          }
        }
      }
    }
    return rules;
  }

  private static Pattern part(String name) {
    return Pattern.compile(
        "<!-- specimens: " + name + " -->(.*?)<!-- end of specimens: " + name + " -->",
        Pattern.DOTALL);
  }

  /**
   * {@return the table, in Markdown}
   *
   * @param specimens its rows
   */
  static String markdown(List<Specimen> specimens) {
    StringBuilder text = new StringBuilder();
    text.append("| specimen | from | what is wrong with it | refused by |\n");
    text.append("|---|---|---|---|\n");
    for (Specimen specimen : specimens) {
      text.append("| ")
          .append(
              String.join(
                  " | ",
                  cell(specimen.name()),
                  cell(specimen.source()),
                  cell(specimen.fault()),
                  refusals(specimen)))
          .append(" |\n");
    }
    Map<String, List<String>> parts = new LinkedHashMap<>();
    for (Specimen specimen : specimens) {
      if (!specimen.reasonForRules().isEmpty()) {
        parts.computeIfAbsent(partly(specimen), reason -> new ArrayList<>()).add(specimen.name());
      }
    }
    if (!parts.isEmpty()) {
      text.append("\nFor some specimens, not all rules are run:\n\n");
      parts.forEach(
          (reason, names) ->
              text.append("- *" + String.join("*, *", names) + "*: " + reason + "\n"));
    }
    return text.toString();
  }

  private static String partly(Specimen specimen) {
    return specimen.except().isEmpty()
        ? "only " + String.join(", ", specimen.rules()) + "; " + specimen.reasonForRules()
        : "not " + String.join(", ", specimen.except()) + "; " + specimen.reasonForRules();
  }

  private static String refusals(Specimen specimen) {
    List<String> cells = new ArrayList<>();
    for (ContractRule rule : Contract.load().rules()) {
      Specimen.Refusal refusal = specimen.refusals().get(rule.id());
      if (refusal != null) {
        cells.add(
            refusal.sinceJava() > 17
                ? rule.id() + " (Java " + refusal.sinceJava() + ")"
                : rule.id());
      }
    }
    return String.join(", ", cells);
  }

  private static String cell(String text) {
    return text.replace("|", "\\|");
  }
}
