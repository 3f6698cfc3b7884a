package dev.interlock.storm;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * All that a report is made from.
 *
 * @param version of the program
 * @param started when
 * @param took all in all
 * @param duration for how long there were meant to be faults
 * @param seed what the plans were made from
 * @param command what repeats these storms
 * @param stopped whether they were ended early
 * @param machine where they took place
 * @param results a storm each
 * @param gaps storms that could not take place
 */
record StormReport(
    String version,
    Instant started,
    Duration took,
    Duration duration,
    long seed,
    String command,
    boolean stopped,
    Map<String, String> machine,
    List<StormResult> results,
    List<Gap> gaps) {

  /** A backend over which there was no storm, and why. */
  record Gap(String backend, String why) {}

  boolean passed() {
    return results.stream().allMatch(StormResult::passed);
  }
}
