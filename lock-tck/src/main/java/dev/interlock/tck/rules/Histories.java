package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.tck.history.Event;
import dev.interlock.tck.history.HistoryChecker;
import dev.interlock.tck.history.Violation;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;

/** What a history must not show. */
final class Histories {
  private Histories() {}

  /** For histories all of whose faults exclusion survives. */
  static void assertExclusive(Collection<Event> history) {
    List<Violation> violations = HistoryChecker.withinFailureModel().check(history);
    if (!violations.isEmpty()) {
      fail(violations.stream().map(Violation::toString).collect(Collectors.joining("\n")));
    }
  }
}
