package dev.interlock.tck.rules;

import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.tck.history.Event;
import dev.interlock.tck.history.HistoryChecker;
import dev.interlock.tck.history.Violation;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;

/** Assertions about histories. */
final class Histories {
  private Histories() {}

  /** Fails if the history shows a violation. All of its faults must be within the failure model. */
  static void assertExclusive(Collection<Event> history) {
    List<Violation> violations = HistoryChecker.withinFailureModel().check(history);
    if (!violations.isEmpty()) {
      fail(violations.stream().map(Violation::toString).collect(Collectors.joining("\n")));
    }
  }
}
