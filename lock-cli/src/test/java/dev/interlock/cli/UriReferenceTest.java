package dev.interlock.cli;

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
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * docs/uri-reference.md is what the backends declare. To write it anew, run this test with {@code
 * -Dinterlock.docs.write}.
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
    assertEquals(current, Files.readString(PAGE), "write it with -Dinterlock.docs.write");
  }

  private static String parameters() {
    StringBuilder text = new StringBuilder("\n## Every URI\n\n");
    table(ClientParameters.all(), text);
    LockProviders.find().usable().stream()
        .filter(provider -> !provider.getClass().getName().contains(".cli."))
        .sorted(Comparator.comparing(provider -> new TreeSet<>(provider.schemes()).first()))
        .forEach(provider -> section(provider, text));
    return text.append("\n").toString();
  }

  private static void section(LockProvider provider, StringBuilder text) {
    TreeSet<String> schemes = new TreeSet<>(provider.schemes());
    String scheme = schemes.first();
    text.append("\n## ")
        .append(schemes.stream().map(s -> "`" + s + ":`").collect(Collectors.joining(" and ")))
        .append("\n\n`")
        .append(provider.example(scheme))
        .append("`\n\n");
    for (String other : schemes) {
      assertEquals(provider.parameters(scheme), provider.parameters(other), other);
    }
    if (provider.parameters(scheme).isEmpty()) {
      text.append("No further parameters.\n");
    } else {
      table(provider.parameters(scheme), text);
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
