package dev.interlock.spring.boot;

import dev.interlock.LockClient;
import dev.interlock.spring.integration.InterlockLockRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;
import org.springframework.integration.support.locks.LockRegistry;

/**
 * Creates a lock registry for Spring Integration, if {@code lock-spring-integration} is on the
 * class path and the application has no lock registry. Needs a single or primary {@link
 * LockClient}.
 */
@AutoConfiguration(after = InterlockAutoConfiguration.class)
@ConditionalOnClass({InterlockLockRegistry.class, LockRegistry.class})
@ConditionalOnSingleCandidate(LockClient.class)
public final class InterlockIntegrationAutoConfiguration {

  /** Called by Spring. */
  public InterlockIntegrationAutoConfiguration() {}

  /**
   * {@return a registry whose locks have their keys as names}
   *
   * @param client acquires the locks
   */
  @Bean
  @ConditionalOnMissingBean(LockRegistry.class)
  InterlockLockRegistry interlockLockRegistry(LockClient client) {
    return new InterlockLockRegistry(client);
  }
}
