package dev.interlock.repository;

import static java.util.stream.Collectors.flatMapping;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.partitioningBy;
import static java.util.stream.Collectors.toList;
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
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Stream;
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
    table(ClientParameters.all(), parameter -> "", text);
    LockProviders.find().usable().stream()
        .filter(provider -> !provider.getClass().getName().contains(".tutorial."))
        .sorted(Comparator.comparing(UriReferenceTest::scheme))
        .collect(groupingBy(UriReferenceTest::firstParameter, LinkedHashMap::new, toList()))
        .forEach((first, family) -> section(family, text));
    return text.append("\n").toString();
  }

  /** Writes a section for providers that share their first parameter, and perhaps more. */
  private static void section(List<LockProvider> family, StringBuilder text) {
    text.append("\n## ")
        .append(names(family.stream().map(UriReferenceTest::scheme)))
        .append("\n\n");
    for (LockProvider provider : family) {
      text.append("- ").append(names(provider.schemes().stream().sorted()));
      text.append(": `").append(provider.example(scheme(provider))).append("`\n");
    }
    List<UriParameter<?>> parameters =
        family.stream().flatMap(provider -> parameters(provider).stream()).distinct().toList();
    text.append("\n");
    if (parameters.isEmpty()) {
      text.append("No further parameters.\n");
    } else {
      table(parameters, parameter -> restriction(parameter, family), text);
    }
  }

  private static String scheme(LockProvider provider) {
    return new TreeSet<>(provider.schemes()).first();
  }

  private static List<UriParameter<?>> parameters(LockProvider provider) {
    List<UriParameter<?>> parameters = provider.parameters(scheme(provider));
    provider.schemes().forEach(scheme -> assertEquals(parameters, provider.parameters(scheme)));
    return parameters;
  }

  private static Optional<UriParameter<?>> firstParameter(LockProvider provider) {
    return parameters(provider).stream().findFirst();
  }

  private static String restriction(UriParameter<?> parameter, List<LockProvider> family) {
    Map<Boolean, List<String>> schemes =
        family.stream()
            .collect(
                partitioningBy(
                    provider -> parameters(provider).contains(parameter),
                    flatMapping(provider -> provider.schemes().stream().sorted(), toList())));
    List<String> with = schemes.get(true);
    List<String> without = schemes.get(false);
    if (without.isEmpty()) {
      return "";
    }
    return with.size() > without.size()
        ? "Not for " + names(without.stream()) + ". "
        : "Only for " + names(with.stream()) + ". ";
  }

  private static String names(Stream<String> schemes) {
    return schemes.map(scheme -> "`" + scheme + ":`").collect(joining(", "));
  }

  private static void table(
      List<UriParameter<?>> parameters,
      Function<UriParameter<?>, String> restriction,
      StringBuilder text) {
    text.append("| parameter | value | default | meaning |\n|---|---|---|---|\n");
    for (UriParameter<?> parameter : parameters) {
      assertFalse(parameter.meaning().contains("|"), parameter.meaning());
      text.append("| ")
          .append(parameter.names().stream().map(name -> "`" + name + "`").collect(joining(", ")))
          .append(" | ")
          .append(parameter.form())
          .append(" | ")
          .append(parameter.defaultValue() == null ? "none" : parameter.defaultValue())
          .append(" | ")
          .append(restriction.apply(parameter))
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
            .collect(joining("&", "memory:x?", ""));
    assertFalse(uri.endsWith("?"));
    assertEquals(
        LockOptions.defaults(),
        ClientParameters.apply(
            LockOptions.builder().ttl(Duration.ofHours(1)).build(), LockUri.parse(uri)));
  }
}
