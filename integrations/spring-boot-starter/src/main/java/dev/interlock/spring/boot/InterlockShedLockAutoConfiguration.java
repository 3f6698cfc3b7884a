package dev.interlock.spring.boot;

import dev.interlock.LockClient;
import dev.interlock.shedlock.InterlockLockProvider;
import net.javacrumbs.shedlock.core.LockProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/**
 * Creates a lock provider for ShedLock, if {@code lock-shedlock} is on the class path and the
 * application has no lock provider. Needs a single or primary {@link LockClient}.
 */
@AutoConfiguration(after = InterlockAutoConfiguration.class)
@ConditionalOnClass({InterlockLockProvider.class, LockProvider.class})
@ConditionalOnSingleCandidate(LockClient.class)
public final class InterlockShedLockAutoConfiguration {

  /** Called by Spring. */
  public InterlockShedLockAutoConfiguration() {}

  /**
   * {@return a provider whose locks have the names that ShedLock gives them}
   *
   * @param client acquires the locks
   */
  @Bean
  @ConditionalOnMissingBean(LockProvider.class)
  InterlockLockProvider interlockLockProvider(LockClient client) {
    return new InterlockLockProvider(client);
  }
}
