package dev.interlock.spring.boot;

import dev.interlock.LockClient;
import dev.interlock.LockState;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/**
 * Checks that the store answers. Asks it for the state of a lock that nobody uses, which takes one
 * request and at most the request time-out, and writes nothing.
 */
final class LockClientHealthIndicator extends AbstractHealthIndicator {

  private static final String LOCK_NAME = "interlock/health";

  private final LockClient client;

  LockClientHealthIndicator(LockClient client) {
    super("the lock store does not answer");
    this.client = client;
  }

  @Override
  protected void doHealthCheck(Health.Builder builder) {
    builder
        .withDetail("backend", client.backend().name())
        .withDetail("endpoint", client.endpoint());
    LockState unused = client.admin().inspect(LOCK_NAME);
    builder.up();
  }
}
