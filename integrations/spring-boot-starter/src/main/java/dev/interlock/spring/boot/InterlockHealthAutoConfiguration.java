package dev.interlock.spring.boot;

import dev.interlock.LockClient;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.health.autoconfigure.contributor.CompositeHealthContributorConfiguration;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthContributor;
import org.springframework.context.annotation.Bean;

/**
 * Adds the lock store to the application's health, as {@code interlock}. The property {@code
 * management.health.interlock.enabled} disables it.
 */
@AutoConfiguration(after = InterlockAutoConfiguration.class)
@ConditionalOnClass({HealthContributor.class, ConditionalOnEnabledHealthIndicator.class})
@ConditionalOnBean(LockClient.class)
@ConditionalOnEnabledHealthIndicator("interlock")
public final class InterlockHealthAutoConfiguration
    extends CompositeHealthContributorConfiguration<LockClientHealthIndicator, LockClient> {

  /** Called by Spring. */
  public InterlockHealthAutoConfiguration() {
    super(LockClientHealthIndicator::new);
  }

  /**
   * {@return the health of all clients}
   *
   * @param beans the bean factory of the clients
   */
  @Bean
  @ConditionalOnMissingBean(name = {"interlockHealthIndicator", "interlockHealthContributor"})
  HealthContributor interlockHealthContributor(ConfigurableListableBeanFactory beans) {
    return createContributor(beans, LockClient.class);
  }
}
