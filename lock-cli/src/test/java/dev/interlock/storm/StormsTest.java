package dev.interlock.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.interlock.tck.sample.Sample;
import java.io.PrintWriter;
import java.io.StringReader;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.xml.sax.InputSource;

/** Runs a storm over each backend, side by side. */
class StormsTest {
  private static final List<String> BACKENDS =
      List.of("memory", "redis", "redlock", "zookeeper", "etcd", "postgresql", "mariadb");

  /** Groups of similar backends; a sample has one of each group. */
  private static final List<List<String>> GROUPS =
      List.of(
          List.of("memory"),
          List.of("redis", "redlock"),
          List.of("zookeeper", "etcd"),
          List.of("postgresql", "mariadb"));

  /** The backends with read-write locks or semaphores. */
  private static final Set<String> WITH_SHARES = Set.of("memory", "zookeeper");

  /** Every lane of the plan has faults, inside the failure model and beyond it. */
  @Test
  void everyBackendKeepsTheContractInAShortStorm(@TempDir Path directory) throws Exception {
    Optional<Sample> sample = Sample.ofRun();
    List<String> backends = sample.map(StormsTest::draw).orElse(BACKENDS);
    long seed = sample.map(s -> s.draw("storms")).orElseGet(System::nanoTime);
    assertKept(backends, Duration.ofSeconds(12), seed, /* minFaults= */ 1, directory);
  }

  private static List<String> draw(Sample sample) {
    return GROUPS.stream()
        .map(group -> group.get((int) (sample.draw(group.toString()) % group.size())))
        .toList();
  }

  /** Two rounds, each of which ends with a time without faults. */
  @Test
  @Tag("extended")
  void everyBackendKeepsTheContractInAStorm(@TempDir Path directory) throws Exception {
    assertKept(BACKENDS, Duration.ofSeconds(65), System.nanoTime(), /* minFaults= */ 10, directory);
  }

  /**
   * Runs the storms, and checks their reports.
   *
   * @param seed any number
   * @param minFaults how many faults must have taken effect on every backend that has servers
   */
  private static void assertKept(
      List<String> backends, Duration lasting, long seed, int minFaults, Path directory)
      throws Exception {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    Storms.Outcome outcome =
        new Storms(
                List.of(),
                backends,
                /* clusters= */ false,
                lasting,
                seed % 1_000_000,
                /* withinModel= */ false,
                /* atOnce= */ backends.size(),
                directory,
                /* terminal= */ false,
                "test",
                () -> false,
                new PrintWriter(out, true),
                new PrintWriter(err, true))
            .run();
    System.out.print(out);
    assertEquals(Storms.Outcome.KEPT, outcome, () -> out + "\n" + err);
    JsonObject results =
        JsonParser.parseString(Files.readString(directory.resolve("results.json")))
            .getAsJsonObject();
    List<String> names = new ArrayList<>();
    for (JsonElement element : results.getAsJsonArray("storms")) {
      JsonObject storm = element.getAsJsonObject();
      String name = storm.get("name").getAsString();
      names.add(name);
      assertTrue(storm.get("passed").getAsBoolean(), name);
      assertTrue(storm.get("lastedSeconds").getAsDouble() >= lasting.toSeconds(), name);
      JsonObject operations = storm.getAsJsonObject("operations");
      assertTrue(operations.get("grants").getAsLong() > 0, name);
      assertTrue(!WITH_SHARES.contains(name) || operations.get("shared").getAsLong() > 0, name);
      assertTrue(
          name.equals("memory") || tookEffect(storm) >= minFaults, name + ": " + tookEffect(storm));
    }
    assertEquals(Set.copyOf(backends), Set.copyOf(names));
    String page = Files.readString(directory.resolve("index.html"));
    for (int from = page.indexOf("<svg class=\"storm\""), n = 0; n < backends.size(); n++) {
      assertTrue(from >= 0, "no picture for " + backends.get(n));
      int end = page.indexOf("</svg>", from) + "</svg>".length();
      assertWellFormed(page.substring(from, end));
      from = page.indexOf("<svg class=\"storm\"", end);
    }
    String markdown = Files.readString(directory.resolve("results.md"));
    backends.forEach(name -> assertTrue(markdown.contains("\n## " + name + "\n"), name));
    assertFalse(page.contains("<script"), "the page has a script");
  }

  private static long tookEffect(JsonObject storm) {
    long tookEffect = 0;
    Set<String> outside = new TreeSet<>();
    for (JsonElement fault : storm.getAsJsonArray("faults")) {
      JsonObject one = fault.getAsJsonObject();
      tookEffect += one.get("tookEffect").getAsBoolean() ? 1 : 0;
      if (!one.get("insideModel").getAsBoolean()
          && one.get("from").getAsDouble() < storm.get("beyondAtSeconds").getAsDouble()) {
        outside.add(one.toString());
      }
    }
    assertEquals(Set.of(), outside, "beyond the failure model before its time");
    return tookEffect;
  }

  private static void assertWellFormed(String svg) throws Exception {
    DocumentBuilderFactory.newInstance()
        .newDocumentBuilder()
        .parse(new InputSource(new StringReader(svg)));
  }
}
