package dev.interlock.storm;

/** The report for a terminal. */
final class TextReport {
  private TextReport() {}

  static String of(StormReport findings) {
    StringBuilder text = new StringBuilder("\n");
    text.append(Summary.verdicts(findings).text()).append('\n');
    text.append(Summary.writes(findings).text()).append('\n');
    for (StormResult storm : findings.results()) {
      for (Finding finding : storm.findings()) {
        text.append(storm.name()).append(": ").append(finding.rule()).append(": ");
        text.append(finding.what().strip()).append("\n\n");
      }
      if (storm.counterExample() != null) {
        text.append(storm.name()).append(", the shortest counter-example:\n");
        text.append(storm.counterExample().strip().indent(2)).append('\n');
      }
    }
    return text.append(Summary.sentence(findings)).append('\n').toString();
  }

  /** How one storm ended, in a line. */
  static String verdict(StormResult storm) {
    long tookEffect = storm.faults().stream().filter(InjectedFault::tookEffect).count();
    return storm.name()
        + ": "
        + (storm.passed() ? "the contract was kept" : "BROKEN: " + Summary.rules(storm))
        + " ("
        + tookEffect
        + " faults, "
        + storm.operations().grants()
        + " leases)";
  }
}
