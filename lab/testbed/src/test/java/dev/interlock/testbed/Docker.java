package dev.interlock.testbed;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.interlock.testbed.server.Deployment;
import dev.interlock.testbed.server.DeploymentBuilder;
import dev.interlock.testbed.server.NoServerException;
import dev.interlock.testbed.server.Way;

/** Tests with containers run where a daemon and the images are; a test run for all demands both. */
final class Docker {
  private Docker() {}

  /** Starts by Docker, or aborts the test for want of a daemon or an image. */
  static <D extends Deployment> D start(DeploymentBuilder<?, D> builder) {
    try {
      return builder.using(Way.DOCKER).start();
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
