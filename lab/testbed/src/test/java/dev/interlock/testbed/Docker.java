package dev.interlock.testbed;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DeploymentBuilder;
import dev.interlock.testbed.server.NoServerException;
import dev.interlock.testbed.server.ServerSource;

/** Runs tests with containers if there are a daemon and the images. */
final class Docker {
  private Docker() {}

  /** Starts servers in containers, or aborts the test without a daemon or an image. */
  static <D extends Deployment> D start(DeploymentBuilder<?, D> builder) {
    try {
      return builder.using(ServerSource.DOCKER).start();
    } catch (NoServerException e) {
      boolean tried = e.getSuppressed().length > 0;
      assumeTrue(tried || Testbed.requiresAll(), e.getMessage());
      throw e;
    }
  }

  static void requireRedis() {
    start(Testbed.redis()).close();
  }
}
