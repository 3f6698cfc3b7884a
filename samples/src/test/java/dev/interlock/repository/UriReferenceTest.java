package dev.interlock.repository;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.interlock.LockOptions;
import dev.interlock.spi.ClientParameters;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockProviders;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.UriParameter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * docs/uri-reference.md lists the parameters that the backends declare. To update the page, run
 * this test with {@code -Dinterlock.docs.write}.
 */
class UriReferenceTest {
  private static final Path PAGE = Path.of("../docs/uri-reference.md");
  private static final String BEGIN = "<!-- parameters: begin -->\n";
  private static final String END = "<!-- parameters: end -->\n";

  @Test
  void thePageListsAllParametersOfAllBackends() throws Exception {
    String page = Files.readString(PAGE);
    String current =
        page.substring(0, page.indexOf(BEGIN) + BEGIN.length())
            + parameters()
            + page.substring(page.indexOf(END));
    if (System.getProperty("interlock.docs.write") != null) {
      Files.writeString(PAGE, current);
    }
    assertEquals(current, Files.readString(PAGE), "update the page with -Dinterlock.docs.write");
  }

  private static String parameters() {
    StringBuilder text = new StringBuilder("\n## Every URI\n\n");
    table(ClientParameters.all(), text);
    LockProviders.find().usable().stream()
        .filter(provider -> !provider.getClass().getName().contains(".tutorial."))
        .sorted(Comparator.comparing(provider -> new TreeSet<>(provider.schemes()).first()))
        .forEach(provider -> sections(provider, text));
    return text.append("\n").toString();
  }

  /** Writes a section for each group of schemes with the same parameters. */
  private static void sections(LockProvider provider, StringBuilder text) {
    Map<List<UriParameter<?>>, List<String>> schemes = new LinkedHashMap<>();
    for (String scheme : new TreeSet<>(provider.schemes())) {
      schemes.computeIfAbsent(provider.parameters(scheme), p -> new ArrayList<>()).add(scheme);
    }
    schemes.forEach((parameters, some) -> section(provider, parameters, some, text));
  }

  private static void section(
      LockProvider provider,
      List<UriParameter<?>> parameters,
      List<String> schemes,
      StringBuilder text) {
    text.append("\n## ")
        .append(schemes.stream().map(s -> "`" + s + ":`").collect(Collectors.joining(" and ")))
        .append("\n\n`")
        .append(provider.example(schemes.get(0)))
        .append("`\n\n");
    if (parameters.isEmpty()) {
      text.append("No further parameters.\n");
    } else {
      table(parameters, text);
    }
  }

  private static void table(List<UriParameter<?>> parameters, StringBuilder text) {
    text.append("| parameter | value | default | meaning |\n|---|---|---|---|\n");
    for (UriParameter<?> parameter : parameters) {
      assertFalse(parameter.meaning().contains("|"), parameter.meaning());
      text.append("| ")
          .append(
              parameter.names().stream()
                  .map(name -> "`" + name + "`")
                  .collect(Collectors.joining(", ")))
          .append(" | ")
          .append(parameter.form())
          .append(" | ")
          .append(parameter.defaultValue() == null ? "none" : parameter.defaultValue())
          .append(" | ")
          .append(parameter.meaning())
          .append(" |\n");
    }
  }

  @Test
  void theDefaultsOfTheClientsParametersAreThoseOfItsOptions() {
    String uri =
        ClientParameters.all().stream()
            .filter(parameter -> String.valueOf(parameter.defaultValue()).matches("\\d+m?s|true"))
            .map(parameter -> parameter + "=" + parameter.defaultValue())
            .collect(Collectors.joining("&", "memory:x?", ""));
    assertFalse(uri.endsWith("?"));
    assertEquals(
        LockOptions.defaults(),
        ClientParameters.apply(
            LockOptions.builder().ttl(Duration.ofHours(1)).build(), LockUri.parse(uri)));
  }
}
