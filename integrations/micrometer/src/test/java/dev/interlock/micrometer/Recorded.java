package dev.interlock.micrometer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.interlock.LockClient;
import dev.interlock.testbed.Eventually;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** The meters of a client, for comparison with its operations. */
final class Recorded implements AutoCloseable {

  /** A lock that only {@link #settle} uses, in a group of its own. */
  private static final String MARKER = "marker";

  private static final String TESTED = "tested";

  final MeterRegistry registry = new SimpleMeterRegistry();
  private final LockClient client;
  private final LockMetrics metrics;
  private long markers;

  Recorded(LockClient client) {
    this.client = client;
    LockGroups groups = LockGroups.of(name -> name.equals(MARKER) ? MARKER : TESTED, 2);
    this.metrics = new LockMetrics(client, "test", groups);
    metrics.bindTo(registry);
  }

  /** Checks all meters that are not zero. */
  void assertExactly(Map<String, Object> expected) throws Exception {
    settle();
    assertEquals(new TreeMap<>(expected), nonZero());
  }

  /**
   * Waits until all earlier events are recorded. Events come in order, so it acquires and releases
   * a marker lock, and waits for that release.
   */
  void settle() throws Exception {
    client.lock(MARKER).acquire().close();
    markers++;
    Eventually.holds(
        "the marker's release is measured",
        () -> count(MARKER, "interlock.hold", "outcome", "released") >= markers);
  }

  long timed(String timer, String... tags) {
    return count(TESTED, timer, tags);
  }

  double counted(String counter, String... tags) {
    return registry.get(counter).tags("lock.group", TESTED).tags(tags).counter().count();
  }

  private long count(String group, String timer, String... tags) {
    Timer found = registry.find(timer).tags("lock.group", group).tags(tags).timer();
    return found == null ? 0 : found.count();
  }

  double gauge(String name, String kind) {
    return registry.get(name).tags("kind", kind).gauge().value();
  }

  /** Returns the meters by name and tags; a timer with its count and its total. */
  private Map<String, Object> nonZero() {
    Map<String, Object> recorded = new TreeMap<>();
    for (Meter meter : registry.getMeters()) {
      if (MARKER.equals(meter.getId().getTag("lock.group"))) {
        continue;
      }
      if (meter instanceof Timer timer && timer.count() > 0) {
        recorded.put(
            label(meter), timer.count() + " in " + timer.totalTime(TimeUnit.SECONDS) + " s");
      } else if (meter instanceof Counter counter && counter.count() > 0) {
        recorded.put(label(meter), counter.count());
      } else if (meter instanceof Gauge gauge && gauge.value() != 0) {
        recorded.put(label(meter), gauge.value());
      }
    }
    return recorded;
  }

  private static String label(Meter meter) {
    return meter.getId().getName()
        + meter.getId().getTags().stream()
            .filter(tag -> tag.getKey().equals("kind") || isOwn(tag))
            .map(tag -> " " + tag.getValue())
            .filter(value -> !value.equals(" exclusive"))
            .collect(Collectors.joining());
  }

  private static boolean isOwn(Tag tag) {
    return tag.getKey().equals("outcome") || tag.getKey().equals("reason");
  }

  @Override
  public void close() {
    metrics.close();
  }
}
