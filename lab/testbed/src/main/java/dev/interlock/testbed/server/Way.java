package dev.interlock.testbed.server;

/**
 * The ways in which the testbed gets at a server, in the order in which it tries them.
 *
 * @see DeploymentBuilder#using(Way, Way...)
 */
public enum Way {
  /**
   * A server that the user names and that runs already, for example by {@code INTERLOCK_REDIS_URI}.
   * It is never configured, paused, killed or emptied.
   */
  ENDPOINT,

  /** A container of the Docker daemon of this machine, through Testcontainers. */
  DOCKER,

  /**
   * A server program that is installed: named by a setting, found on the {@code PATH}, or unpacked
   * below the project's {@code .interlock/servers} folder.
   */
  BINARY,

  /** A server that comes as a dependency from Maven Central. */
  EMBEDDED;

  /** The name as settings and messages spell it: lower case. */
  @Override
  public String toString() {
    return name().toLowerCase(java.util.Locale.ROOT);
  }
}
