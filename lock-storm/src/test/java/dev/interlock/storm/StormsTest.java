package dev.interlock.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.PrintWriter;
import java.io.StringReader;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.xml.sax.InputSource;

/** A short storm over every backend, side by side, as on every change. */
class StormsTest {
  private static final List<String> BACKENDS =
      List.of("memory", "redis", "redlock", "zookeeper", "etcd");

  /** Faults of which so many must have been seen to strike a backend that has servers. */
  private static final int FEWEST_FAULTS = 10;

  @Test
  void everyBackendKeepsTheContractInAStorm(@TempDir Path directory) throws Exception {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    Storms.Outcome outcome =
        new Storms(new PrintWriter(out, true), new PrintWriter(err, true))
            .backends(BACKENDS)
            .lasting(Duration.ofSeconds(65))
            .directory(directory)
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
      assertTrue(storm.get("lastedSeconds").getAsDouble() >= 60, name);
      assertTrue(storm.getAsJsonObject("tally").get("grants").getAsLong() > 0, name);
      assertTrue(
          name.equals("memory") || struck(storm) >= FEWEST_FAULTS, name + ": " + struck(storm));
    }
    assertEquals(Set.copyOf(BACKENDS), Set.copyOf(names));
    String page = Files.readString(directory.resolve("index.html"));
    for (int from = page.indexOf("<svg class=\"storm\""), n = 0; n < BACKENDS.size(); n++) {
      assertTrue(from >= 0, "no picture for " + BACKENDS.get(n));
      int end = page.indexOf("</svg>", from) + "</svg>".length();
      assertWellFormed(page.substring(from, end));
      from = page.indexOf("<svg class=\"storm\"", end);
    }
    String markdown = Files.readString(directory.resolve("results.md"));
    BACKENDS.forEach(name -> assertTrue(markdown.contains("\n## " + name + "\n"), name));
    assertFalse(page.contains("<script"), "the page brings a script");
  }

  private static long struck(JsonObject storm) {
    long struck = 0;
    Set<String> outside = new TreeSet<>();
    for (JsonElement blow : storm.getAsJsonArray("blows")) {
      JsonObject one = blow.getAsJsonObject();
      struck += one.get("struck").getAsBoolean() ? 1 : 0;
      if (!one.get("insideModel").getAsBoolean()
          && one.get("from").getAsDouble() < storm.get("beyondAtSeconds").getAsDouble()) {
        outside.add(one.toString());
      }
    }
    assertEquals(Set.of(), outside, "beyond the failure model before its time");
    return struck;
  }

  private static void assertWellFormed(String svg) throws Exception {
    DocumentBuilderFactory.newInstance()
        .newDocumentBuilder()
        .parse(new InputSource(new StringReader(svg)));
  }
}
