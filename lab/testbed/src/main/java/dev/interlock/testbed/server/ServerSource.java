package dev.interlock.testbed.server;

/**
 * The sources of servers, in the order in which the testbed tries them.
 *
 * @see DeploymentBuilder#using(ServerSource, ServerSource...)
 */
public enum ServerSource {
  /**
   * A running server that the user names, for example with {@code INTERLOCK_REDIS_URI}. The testbed
   * never configures, pauses, kills or empties it.
   */
  ENDPOINT,

  /** A container on this machine's Docker daemon, through Testcontainers. */
  DOCKER,

  /**
   * A server program on this machine: named by a setting, on the {@code PATH}, or in the project's
   * {@code .interlock/servers} folder.
   */
  BINARY,

  /** A server from a dependency on Maven Central. */
  EMBEDDED;

  /** {@return the name in lower case, as in settings and messages} */
  @Override
  public String toString() {
    return name().toLowerCase(java.util.Locale.ROOT);
  }
}
