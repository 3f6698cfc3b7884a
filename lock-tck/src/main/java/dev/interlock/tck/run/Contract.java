package dev.interlock.tck.run;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.Capability;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The rules that every backend must keep. They are read from the project's {@code
 * docs/contract.md}, which is part of the kit's jar, so that the document and the kit cannot
 * disagree.
 */
public final class Contract {
  private static final String DOCUMENT = "contract.md";
  private static final Pattern HEADING = Pattern.compile("### ([A-Z]+-[0-9]{2}) (.+)");
  private static final Pattern FIELD = Pattern.compile("- ([a-z]+): (.+)");

  private final Map<String, ContractRule> rules;

  private Contract(Map<String, ContractRule> rules) {
    this.rules = rules;
  }

  /**
   * Reads the contract.
   *
   * @return the contract of this version of the kit
   */
  public static Contract load() {
    try (InputStream in = Contract.class.getResourceAsStream(DOCUMENT)) {
      if (in == null) {
        throw new IllegalStateException(DOCUMENT + " is missing from the kit's jar");
      }
      return parse(new String(in.readAllBytes(), UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + DOCUMENT, e);
    }
  }

  static Contract parse(String document) {
    Map<String, ContractRule> rules = new LinkedHashMap<>();
    for (String section : document.split("(?m)^(?=#)")) {
      List<String> lines = section.lines().toList();
      Matcher heading = HEADING.matcher(lines.isEmpty() ? "" : lines.get(0));
      if (heading.matches()) {
        ContractRule rule =
            rule(heading.group(1), heading.group(2), lines.subList(1, lines.size()));
        if (rules.put(rule.id(), rule) != null) {
          throw new IllegalArgumentException("rule " + rule.id() + " occurs twice");
        }
      } else if (section.startsWith("###")) {
        throw new IllegalArgumentException("not the heading of a rule: " + lines.get(0));
      }
    }
    return new Contract(rules);
  }

  private static ContractRule rule(String id, String title, List<String> lines) {
    Map<String, String> fields = new LinkedHashMap<>();
    String name = "";
    for (String line : lines) {
      Matcher field = FIELD.matcher(line);
      if (field.matches()) {
        name = field.group(1);
        fields.put(name, field.group(2));
      } else if (line.startsWith("  - ") && !name.isEmpty()) {
        fields.merge(name, "\n" + line, String::concat);
      } else if (!line.isBlank()) {
        throw new IllegalArgumentException("not a field of rule " + id + ": " + line);
      }
    }
    String level = required(id, fields, "level");
    Capability capability = null;
    if (level.startsWith("CAP ")) {
      capability = Capability.valueOf(level.substring("CAP ".length()));
    } else if (!level.equals("MUST")) {
      throw new IllegalArgumentException("rule " + id + ": unknown level " + level);
    }
    return new ContractRule(
        id,
        title,
        capability,
        required(id, fields, "rule"),
        required(id, fields, "why"),
        required(id, fields, "test"),
        required(id, fields, "check"),
        capability == null ? null : required(id, fields, "without"));
  }

  private static String required(String id, Map<String, String> fields, String name) {
    String value = fields.get(name);
    if (value == null) {
      throw new IllegalArgumentException("rule " + id + " has no line \"- " + name + ": …\"");
    }
    return value;
  }

  /** {@return all rules, in the order of the document} */
  public List<ContractRule> rules() {
    return List.copyOf(rules.values());
  }

  /**
   * {@return the identifiers that match the patterns, each once}
   *
   * @param patterns identifiers in any case, with {@code *} for any characters
   * @throws IllegalArgumentException if a pattern matches none; the message lists all identifiers
   */
  public List<String> matching(List<String> patterns) {
    Set<String> matching = new LinkedHashSet<>();
    for (String pattern : patterns) {
      Pattern ids =
          Pattern.compile(
              Pattern.quote(pattern.strip()).replace("*", "\\E.*\\Q"), Pattern.CASE_INSENSITIVE);
      List<String> found = rules.keySet().stream().filter(id -> ids.matcher(id).matches()).toList();
      if (found.isEmpty()) {
        throw new IllegalArgumentException(
            "no rule is called "
                + pattern
                + "; the rules are "
                + String.join(", ", rules.keySet()));
      }
      matching.addAll(found);
    }
    return List.copyOf(matching);
  }

  /**
   * Looks a rule up.
   *
   * @param id its identifier
   * @return the rule, or empty if there is none
   */
  public Optional<ContractRule> find(String id) {
    return Optional.ofNullable(rules.get(id));
  }
}
