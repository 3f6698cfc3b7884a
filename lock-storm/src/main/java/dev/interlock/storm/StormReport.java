package dev.interlock.storm;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * The content of a report.
 *
 * @param version of the program
 * @param started when
 * @param took all in all
 * @param duration for how long faults were to be injected
 * @param seed from which the plans were made
 * @param command the command that repeats these storms
 * @param stopped whether they were ended early
 * @param machine where they took place
 * @param results a storm each
 * @param gaps contenders whose storm could not take place
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
