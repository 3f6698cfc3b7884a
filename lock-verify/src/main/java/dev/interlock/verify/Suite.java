package dev.interlock.verify;

import java.time.Duration;

/**
 * A test class.
 *
 * @param className its full name
 * @param expected how long it is expected to take
 * @param known whether that is recorded, not guessed
 */
record Suite(MavenModule module, String className, Duration expected, boolean known) {

  /** The name without the package, which is unique within a module. */
  String name() {
    return className.substring(className.lastIndexOf('.') + 1);
  }

  @Override
  public String toString() {
    return module.name() + " " + name();
  }
}
