package dev.interlock.micrometer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.interlock.LockClient;
import io.micrometer.common.docs.KeyName;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.core.instrument.distribution.DistributionStatisticConfig;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The pages and the dashboard name exactly the published meters. */
@Timeout(60)
class DocumentedMetersTest {

  private static final Path DOCS = Path.of("..", "..", "docs");
  private static final Pattern METRIC = Pattern.compile("(interlock_[a-z_]+)(\\{[^}]*})?");
  private static final Pattern GROUPING = Pattern.compile("\\bby \\(([^)]*)\\)");

  private static String read(String file) throws IOException {
    return Files.readString(DOCS.resolve(file));
  }

  /** The time series of a client, each with the names of its labels. */
  private static Map<String, Set<String>> published() throws Exception {
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    registry.config().commonTags("application", "test").meterFilter(new Histograms());
    try (LockClient client = LockClient.open("memory:documented");
        LockMetrics metrics = new LockMetrics(client)) {
      metrics.bindTo(registry);
      client.lock("a").acquire().close();
      Map<String, Set<String>> published = new TreeMap<>();
      registry
          .scrape()
          .lines()
          .filter(line -> !line.startsWith("#"))
          .forEach(
              line ->
                  published
                      .computeIfAbsent(line.substring(0, line.indexOf('{')), n -> new TreeSet<>())
                      .addAll(labels(line.substring(line.indexOf('{')))));
      return published;
    }
  }

  private static final class Histograms implements MeterFilter {
    @Override
    public DistributionStatisticConfig configure(Meter.Id id, DistributionStatisticConfig config) {
      return DistributionStatisticConfig.builder().percentilesHistogram(true).build().merge(config);
    }
  }

  private static Set<String> labels(String text) {
    return Pattern.compile("([a-z_]+)=~?\"|([a-z_]+)!~?\"")
        .matcher(text)
        .results()
        .map(label -> label.group(1) == null ? label.group(2) : label.group(1))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static List<String> queries(JsonElement json, List<String> found) {
    if (json.isJsonArray()) {
      json.getAsJsonArray().forEach(each -> queries(each, found));
    } else if (json instanceof JsonObject object) {
      for (var entry : object.entrySet()) {
        if (entry.getKey().equals("expr") || entry.getKey().equals("query")) {
          if (entry.getValue().isJsonPrimitive()) {
            found.add(entry.getValue().getAsString());
          }
        }
        queries(entry.getValue(), found);
      }
    }
    return found;
  }

  @Test
  void theDashboardQueriesAllMetersAndNoOthers() throws Exception {
    Map<String, Set<String>> published = published();
    List<String> queries =
        queries(JsonParser.parseString(read("grafana/interlock.json")), new ArrayList<>());
    assertFalse(queries.isEmpty());
    Set<String> asked = new TreeSet<>();
    for (String query : queries) {
      asked.addAll(assertPublished(query, published));
    }
    assertEquals(published.keySet(), asked);
  }

  @Test
  void everyAlertQueriesPublishedMeters() throws Exception {
    Map<String, Set<String>> published = published();
    List<String> queries =
        Pattern.compile("expr: (.*)")
            .matcher(read("grafana/interlock-alerts.yml"))
            .results()
            .map(expression -> expression.group(1))
            .toList();
    assertFalse(queries.isEmpty());
    for (String query : queries) {
      assertFalse(assertPublished(query, published).isEmpty(), query);
    }
  }

  /** Returns the metrics in a query. */
  private static Set<String> assertPublished(String query, Map<String, Set<String>> published) {
    Set<String> asked = new TreeSet<>();
    Matcher metric = METRIC.matcher(query);
    while (metric.find()) {
      String name = metric.group(1);
      assertTrue(published.containsKey(name), name + " is not published: " + query);
      assertLabels(metric.group(2) == null ? Set.of() : labels(metric.group(2)), name, published);
      asked.add(name);
    }
    Set<String> grouping =
        GROUPING
            .matcher(query)
            .results()
            .flatMap(by -> Arrays.stream(by.group(1).split(", *")))
            .collect(Collectors.toCollection(TreeSet::new));
    asked.forEach(name -> assertLabels(grouping, name, published));
    return asked;
  }

  private static void assertLabels(
      Set<String> labels, String metric, Map<String, Set<String>> published) {
    assertTrue(published.get(metric).containsAll(labels), labels + " of " + metric);
  }

  @Test
  void thePageListsEveryMeterWithItsTypeAndTags() throws Exception {
    Map<String, String> documented = new TreeMap<>();
    Pattern row = Pattern.compile("\\| `(interlock\\.[a-z.]+)` \\| ([a-z, ]+) \\| ([^|]*) \\|.*");
    read("metrics.md")
        .lines()
        .map(row::matcher)
        .filter(Matcher::matches)
        .forEach(cells -> documented.put(cells.group(1), cells.group(2) + "; " + cells.group(3)));
    Map<String, String> real = new TreeMap<>();
    for (LockMeter meter : LockMeter.values()) {
      String unit = meter.getType() == Meter.Type.TIMER ? "seconds" : meter.getBaseUnit();
      String own =
          Arrays.stream(meter.getKeyNames())
              .skip(3)
              .map(key -> "`" + key.asString() + "`")
              .collect(Collectors.joining(", "));
      real.put(
          meter.getName(),
          meter.getType().name().toLowerCase(Locale.ROOT)
              + (unit == null ? "" : ", " + unit)
              + "; "
              + (own.isEmpty() ? "–" : own));
    }
    assertEquals(real, documented);
  }

  @Test
  void everyMeterHasExactlyItsDocumentedTags() throws Exception {
    try (LockClient client = LockClient.open("memory:tags");
        Recorded recorded = new Recorded(client)) {
      recorded.settle();
      for (LockMeter meter : LockMeter.values()) {
        Meter.Id id = recorded.registry.get(meter.getName()).meter().getId();
        assertEquals(
            Arrays.stream(meter.getKeyNames()).map(KeyName::asString).collect(Collectors.toSet()),
            id.getTags().stream().map(Tag::getKey).collect(Collectors.toSet()));
        assertEquals(meter.getType(), id.getType());
        assertEquals(meter.description(), id.getDescription());
      }
    }
  }
}
