package dev.interlock.spring.boot;

import java.util.Locale;
import java.util.Set;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitializationDetector;
import org.springframework.core.env.Environment;

/**
 * Makes the starter's client wait for Flyway, Liquibase and scripts, if its locks are in a
 * database. These may create its table, and expect an empty schema to have none. A client of
 * another store does not wait, because a migration may run under its lock.
 */
final class LockTableMigration implements DependsOnDatabaseInitializationDetector {

  private static final Set<String> DATABASES = Set.of("postgresql", "mariadb", "mysql", "h2");

  private final Environment environment;

  LockTableMigration(Environment environment) {
    this.environment = environment;
  }

  @Override
  public Set<String> detect(ConfigurableListableBeanFactory beans) {
    String bean = InterlockAutoConfiguration.CLIENT_BEAN;
    boolean isOfStarter =
        beans.containsBeanDefinition(bean)
            && InterlockAutoConfiguration.class
                .getName()
                .equals(beans.getBeanDefinition(bean).getFactoryBeanName());
    boolean waits = isOfStarter && isDatabase(environment.getProperty("interlock.uri", ""));
    return waits ? Set.of(bean) : Set.of();
  }

  private static boolean isDatabase(String uri) {
    return DATABASES.contains(uri.split(":", 2)[0].strip().toLowerCase(Locale.ROOT));
  }
}
