package dev.interlock.compare;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.report.Unit;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests how the report shows targets and medians. */
class SectionTest {
  private final Section section = new Section("Redis", "7.0");

  private void assertLine(String line) {
    String text = section.markdown();
    assertTrue(text.lines().anyMatch(line::equals), text);
  }

  @Test
  void aLimitIsMetByTheMedianAndByTheLimitItself() {
    section.addRow("p50", Target.atMost(1.15, Unit.RATIO), List.of(1.15, 1.0, 2.0));
    section.addRow("p99", Target.atMost(0.01, Unit.SECONDS), List.of(0.011, 0.0, 1.0));
    section.addRow("rate", Target.atLeast(2, Unit.RATIO), List.of(1.99, 1.5, 3.0));
    assertLine("| p50 | ≤ 1.15 × | 1.15 × (1 × to 2 ×) | yes |");
    assertLine("| p99 | ≤ 10 ms | 11 ms (0 s to 1 s) | **no** |");
    assertLine("| rate | ≥ 2 × | 1.99 × (1.50 × to 3 ×) | **no** |");
  }

  @Test
  void aTargetWithoutMeasurementsIsNeitherMetNorMissed() {
    section.addRow("p50", Target.atMost(1, Unit.RATIO), List.of());
    section.note("the peer failed: no connection");
    assertLine("| p50 | ≤ 1 × | not measured | – |");
    assertLine("- the peer failed: no connection");
  }

  @Test
  void theMediansOfAllContendersShareOneTable() {
    Series<String> series = new Series<>("own names");
    series.add("ours", Map.of(Figure.CYCLES, 100.0));
    series.add("ours", Map.of(Figure.CYCLES, 300.0));
    section.add(series);
    Series<String> contention = new Series<>("one name");
    contention.add("peer", Map.of(Figure.FAIRNESS, 0.5));
    section.add(contention);
    assertLine("| own names: cycles | 200 /s | – |");
    assertLine("| one name: Jain's index | – | 0.50 |");
  }
}
