package dev.interlock.spring.boot;

import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.spring.EnableLocked;
import java.util.Map;
import java.util.Objects;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;

/**
 * Creates a {@link LockClient} bean from the properties {@code interlock.*}, unless the application
 * has one of its own. Closes all clients in order, and enables {@link dev.interlock.spring.Locked}.
 */
@AutoConfiguration
@EnableConfigurationProperties(InterlockProperties.class)
@EnableLocked
public final class InterlockAutoConfiguration {

  static final String CLIENT_BEAN = "lockClient";

  /** Called by Spring. */
  public InterlockAutoConfiguration() {}

  /**
   * {@return the client of the store at {@code interlock.uri}}
   *
   * @param properties the properties of the application
   * @param customizers the customizers of the client's options
   * @throws LockConfigurationException if the URI or an option cannot work
   * @throws dev.interlock.LockUnavailableException if the store does not answer
   */
  @Bean(name = CLIENT_BEAN, destroyMethod = "close")
  @ConditionalOnMissingBean
  @ConditionalOnProperty("interlock.uri")
  LockClient lockClient(
      InterlockProperties properties, ObjectProvider<LockOptionsCustomizer> customizers) {
    LockOptions options;
    try {
      LockOptions.Builder builder = properties.options();
      customizers.orderedStream().forEach(customizer -> customizer.customize(builder));
      options = builder.build();
    } catch (IllegalArgumentException e) {
      throw new LockConfigurationException("invalid properties interlock.*: " + e.getMessage(), e);
    }
    return LockClient.open(Objects.requireNonNull(properties.uri(), "interlock.uri"), options);
  }

  /**
   * {@return the bean that closes the clients when the application ends}
   *
   * @param beans the bean factory of the clients. A parent context closes its own clients, and
   *     clients with {@code destroyMethod = ""} stay open
   * @param properties the properties of the application
   */
  @Bean
  @ConditionalOnBean(value = LockClient.class, search = SearchStrategy.CURRENT)
  LockClientShutdown lockClientShutdown(
      ConfigurableListableBeanFactory beans, InterlockProperties properties) {
    Map<String, LockClient> clients = beans.getBeansOfType(LockClient.class);
    clients.keySet().removeIf(name -> staysOpen(beans, name));
    return new LockClientShutdown(clients.values(), properties.shutdownTimeout());
  }

  private static boolean staysOpen(ConfigurableListableBeanFactory beans, String name) {
    return beans.containsBeanDefinition(name)
        && "".equals(beans.getMergedBeanDefinition(name).getDestroyMethodName());
  }
}
