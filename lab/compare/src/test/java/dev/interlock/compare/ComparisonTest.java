package dev.interlock.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.interlock.LockConfigurationException;
import dev.interlock.compare.Comparison.Outcome;
import dev.interlock.report.Contender;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
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

/** Runs whole comparisons that are as small as possible. No test depends on measured times. */
class ComparisonTest {
  private static final Profile TINY =
      new Profile(
          "tiny",
          /* ratios= */ true,
          2,
          Duration.ofMillis(20),
          Duration.ZERO,
          Duration.ofSeconds(1),
          1,
          List.of(1, 3),
          List.of(1, 3),
          2,
          2,
          List.of(Duration.ofMillis(1), Duration.ofMillis(3)),
          List.of(1, 120),
          Duration.ofSeconds(1));

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  @TempDir private Path directory;

  private Comparison comparison() {
    return new Comparison(new PrintWriter(out, true), new PrintWriter(err, true)).profile(TINY);
  }

  private JsonObject json() throws Exception {
    return JsonParser.parseString(Files.readString(directory.resolve("results.json")))
        .getAsJsonObject();
  }

  @Test
  void everyScenarioMeasuresMemoryAndAStartedServer() throws Exception {
    Outcome outcome = comparison().backends(List.of("memory", "redis")).directory(directory).run();
    assertEquals(Outcome.COMPLETE, outcome, err::toString);

    JsonObject results = json();
    JsonElement schema =
        JsonParser.parseString(
            Files.readString(Path.of("..", "..", "docs", "results.schema.json")));
    assertEquals(List.of(), new JsonSchema(schema.getAsJsonObject()).violations(results));
    for (String scenario : Comparison.scenarioNames()) {
      assertTrue(measured(results, "redis").contains(scenario), scenario);
    }
    assertTrue(
        measured(results, "memory")
            .containsAll(Set.of("uncontended", "many-locks", "hot-lock", "held-leases")));
    assertTrue(results.get("complete").getAsBoolean());

    assertEquals(100, value(results, "redis", "lost-updates-unchecked"));
    assertEquals(50, value(results, "redis", "lost-updates-checked"));
    assertEquals(0, value(results, "redis", "lost-updates-claimed"));
    assertEquals(2, value(results, "redis", "requests-per-pair"), 0.2);
    // May be negative, as the scenario explains; the TTL is 3 s.
    assertTrue(value(results, "redis", "beyond-ttl") > -3);

    assertIsSelfContained(Files.readString(directory.resolve("index.html")));
    String markdown = Files.readString(directory.resolve("results.md"));
    assertTrue(markdown.contains("| redis |"), markdown);
    assertTrue(out.toString().contains("redis"), out::toString);
  }

  @Test
  void aStoreOfTheUserIsMeasuredAndLeftAsItWas() throws Exception {
    try (RedisServer redis = Testbed.redis().forFaults().start()) {
      assertEquals(
          Outcome.COMPLETE,
          comparison()
              .uris(List.of(redis.uri()))
              .scenarios(List.of("uncontended", "restart"))
              .directory(directory)
              .run(),
          err::toString);
      assertTrue(redis.answers(Duration.ofSeconds(5)));
      Object keys = redis.call("KEYS", "baseline:*");
      assertEquals(List.of(), keys);
    }
    assertTrue(measured(json(), "redis").contains("uncontended"));
    assertTrue(out.toString().contains("no server of ours"), out::toString);
  }

  @Test
  void aStoreThatDoesNotAnswerIsLeftOutAndTheOthersAreMeasured() throws Exception {
    String unreachable = "redis://127.0.0.1:" + Testbed.freePort();
    Outcome outcome =
        comparison()
            .uris(List.of(unreachable, "memory:x"))
            .scenarios(List.of("uncontended"))
            .directory(directory)
            .run();
    assertEquals(Outcome.PARTIAL, outcome);
    assertTrue(err.toString().contains("redis is left out: "), err::toString);
    assertEquals(Set.of("uncontended"), measured(json(), "memory"));
    assertFalse(json().get("complete").getAsBoolean());
    assertTrue(Files.readString(directory.resolve("index.html")).contains("redis was left out"));
  }

  @Test
  void noReportIsWrittenIfNoStoreAnswers() throws Exception {
    String unreachable = "redis://127.0.0.1:" + Testbed.freePort();
    assertEquals(Outcome.NOTHING, comparison().uris(List.of(unreachable)).run());
    assertEquals("", out.toString());
    assertEquals(1, err.toString().lines().count(), err::toString);
  }

  @Test
  void aServerThatDiesIsExcludedAndTheOthersGoOn() throws Exception {
    try (RedisServer redis = Testbed.redis().forFaults().start()) {
      Scenario killer =
          new StubScenario("killer") {
            @Override
            void run(Run run) {
              redis.kill();
            }
          };
      Results results = new Results();
      List<String> lines = new ArrayList<>();
      List<Contender> contenders = Contender.at(List.of(redis.uri(), "memory:y"));
      try (OpenContender dying = OpenContender.open(contenders.get(0));
          OpenContender other = OpenContender.open(contenders.get(1))) {
        for (Scenario scenario : List.of(killer, new Uncontended(), new ManyLocks())) {
          scenario.run(new Run(scenario, TINY, List.of(dying, other), results, lines::add));
        }
        assertTrue(dying.isGone());
      }
      assertEquals(1, lines.size(), lines::toString);
      assertTrue(results.anythingFailed());
      assertTrue(
          results
              .find("many-locks", "memory", ManyLocks.RATE, new Point("threads", 3))
              .isPresent());
    }
  }

  @Test
  void anInterruptReportsTheResultsSoFar() throws Exception {
    Scenario last =
        new StubScenario("last") {
          @Override
          void run(Run run) throws InterruptedException {
            throw new InterruptedException();
          }
        };
    Comparison comparison = comparison().uris(List.of("memory:z")).directory(directory);
    assertEquals(Outcome.STOPPED, comparison.run(List.of(new Uncontended(), last)));
    assertTrue(measured(json(), "memory").contains("uncontended"));
    assertTrue(out.toString().contains("stopped early"), out::toString);
  }

  @Test
  void invalidSettingsAreRefusedBeforeAnythingStarts() throws Exception {
    assertRefused(comparison().scenarios(List.of("speed")), "there is no scenario speed");
    assertRefused(comparison().backends(List.of("postgres")), "there is no backend postgres");
    assertRefused(comparison().uris(List.of("memory:x")).backends(List.of("redis")), "either URIs");
    Path file = Files.writeString(directory.resolve("file"), "");
    assertRefused(
        comparison().uris(List.of("memory:x")).directory(file.resolve("sub")), "cannot write to");
    assertThrows(
        LockConfigurationException.class, () -> comparison().uris(List.of("nosuch:x")).run());
    assertThrows(
        LockConfigurationException.class,
        () -> comparison().uris(List.of("redis://localhost?tern=1s")).run());
  }

  private static void assertRefused(Comparison comparison, String part) {
    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, comparison::run);
    assertTrue(refused.getMessage().contains(part), refused::getMessage);
  }

  /** Asserts that a page is well-formed and has nothing that a browser would fetch or run. */
  private static void assertIsSelfContained(String page) throws Exception {
    for (String forbidden : List.of("<script", "http://", "https://", "@import", "url(", " src=")) {
      assertFalse(page.contains(forbidden), forbidden);
    }
    int body = page.indexOf("<body>");
    String content = page.substring(body, page.indexOf("</body>") + "</body>".length());
    DocumentBuilderFactory.newInstance()
        .newDocumentBuilder()
        .parse(new InputSource(new StringReader(content)));
  }

  private static Set<String> measured(JsonObject results, String backend) {
    Set<String> scenarios = new TreeSet<>();
    for (JsonElement one : results.getAsJsonArray("measurements")) {
      if (one.getAsJsonObject().get("backend").getAsString().equals(backend)) {
        scenarios.add(one.getAsJsonObject().get("scenario").getAsString());
      }
    }
    return scenarios;
  }

  private static double value(JsonObject results, String backend, String metric) {
    for (JsonElement element : results.getAsJsonArray("measurements")) {
      JsonObject one = element.getAsJsonObject();
      if (one.get("backend").getAsString().equals(backend)
          && one.get("metric").getAsString().equals(metric)) {
        return one.get("value").getAsDouble();
      }
    }
    throw new AssertionError(metric + " was not measured on " + backend);
  }

  /** A scenario that measures nothing. */
  private abstract static class StubScenario extends Scenario {
    StubScenario(String id) {
      super(id, id, "", List.of(), List.of());
    }

    @Override
    Duration estimate(Profile profile, int backends) {
      return Duration.ZERO;
    }
  }
}
