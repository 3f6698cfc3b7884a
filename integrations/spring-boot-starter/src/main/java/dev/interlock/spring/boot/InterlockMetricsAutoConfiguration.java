package dev.interlock.spring.boot;

import dev.interlock.LockClient;
import dev.interlock.micrometer.LockGroups;
import dev.interlock.micrometer.LockMetrics;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.Map;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.context.annotation.Bean;

/**
 * Publishes the metrics of the lock clients, if {@code lock-micrometer} is on the class path. A
 * single client is named {@value LockMetrics#DEFAULT_CLIENT_NAME} in them. Several clients are
 * named after their beans. A bean of type {@link LockGroups} sets the groups of locks.
 */
@AutoConfiguration(after = InterlockAutoConfiguration.class)
@ConditionalOnClass({LockMetrics.class, MeterBinder.class})
@ConditionalOnBean(value = LockClient.class, search = SearchStrategy.CURRENT)
@ConditionalOnMissingBean(LockMetrics.class)
public final class InterlockMetricsAutoConfiguration {

  /** Called by Spring. */
  public InterlockMetricsAutoConfiguration() {}

  /**
   * {@return the binder of the meters of all clients}
   *
   * @param beans the bean factory of the clients
   * @param groups the groups of locks, if the application has any
   */
  @Bean
  MeterBinder interlockMetrics(ListableBeanFactory beans, ObjectProvider<LockGroups> groups) {
    Map<String, LockClient> clients = beans.getBeansOfType(LockClient.class);
    return registry ->
        clients.forEach(
            (bean, client) -> {
              String name = clients.size() == 1 ? LockMetrics.DEFAULT_CLIENT_NAME : bean;
              new LockMetrics(client, name, groups.getIfAvailable(LockGroups::none))
                  .bindTo(registry);
            });
  }
}
