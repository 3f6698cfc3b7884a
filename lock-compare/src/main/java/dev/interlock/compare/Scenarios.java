package dev.interlock.compare;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** All scenarios, in the order in which they are run and reported. */
final class Scenarios {
  static final List<Scenario> ALL =
      List.of(
          new Uncontended(),
          new ManyLocks(),
          new HotLock(),
          new AddedLatency(),
          new ServerCost(),
          new TakeOver(),
          new SilentPartition(),
          new Restart(),
          new StoppedHolder(),
          new HeldLeases());

  private Scenarios() {}

  static List<String> names() {
    return ALL.stream().map(Scenario::id).toList();
  }

  /** Those that are named, in our order; all if none is. */
  static List<Scenario> named(List<String> ids) {
    if (ids.isEmpty()) {
      return ALL;
    }
    List<String> unknown = new ArrayList<>(ids);
    unknown.removeAll(names());
    if (!unknown.isEmpty()) {
      throw new IllegalArgumentException(
          unknown.stream().collect(Collectors.joining(", ", "there is no scenario ", ""))
              + "; the scenarios are "
              + String.join(", ", names()));
    }
    return ALL.stream().filter(scenario -> ids.contains(scenario.id())).toList();
  }
}
