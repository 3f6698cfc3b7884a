package dev.interlock.verify;

import java.time.Duration;

/**
 * A test class.
 *
 * @param className its full name
 * @param expected how long it is expected to take
 * @param cpuTime how much of the processors' time it is expected to use
 * @param known whether both were measured, and are no guess
 */
record Suite(
    MavenModule module, String className, Duration expected, Duration cpuTime, boolean known) {
  private static final Duration LONG = Duration.ofSeconds(10);

  /**
   * Whether it keeps more than a processor busy, for long, as a kit does whose servers are busy,
   * too. Two of them at once would starve each other's servers.
   */
  boolean runsAlone() {
    return expected.compareTo(LONG) >= 0
        && cpuTime.multipliedBy(5).compareTo(expected.multipliedBy(6)) >= 0;
  }

  /** The name without the package, which is unique within a module. */
  String name() {
    return className.substring(className.lastIndexOf('.') + 1);
  }

  @Override
  public String toString() {
    return module.name() + " " + name();
  }
}
