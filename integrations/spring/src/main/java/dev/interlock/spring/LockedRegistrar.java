package dev.interlock.spring;

import org.springframework.aop.config.AopConfigUtils;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.util.ClassUtils;

/** Registers the beans of {@link EnableLocked}. */
final class LockedRegistrar implements ImportBeanDefinitionRegistrar {

  private static final String PREFIX = "dev.interlock.spring.";

  @Override
  public void registerBeanDefinitions(
      AnnotationMetadata importing, BeanDefinitionRegistry registry) {
    if (registry.containsBeanDefinition(PREFIX + "lockedAdvisor")) {
      return;
    }
    AopConfigUtils.registerAutoProxyCreatorIfNecessary(registry);
    RootBeanDefinition advisor = infrastructure(LockedAdvisor.class);
    advisor
        .getPropertyValues()
        .add("order", importing.getAnnotations().get(EnableLocked.class).getInt("order"));
    registry.registerBeanDefinition(PREFIX + "lockedAdvisor", advisor);
    registry.registerBeanDefinition(
        PREFIX + "lockedBeanCheck", infrastructure(LockedBeanCheck.class));
    if (ClassUtils.isPresent(
        "org.springframework.transaction.ConfigurableTransactionManager",
        LockedRegistrar.class.getClassLoader())) {
      registry.registerBeanDefinition(
          PREFIX + "lostLeaseRollback", infrastructure(LostLeaseRollback.class));
    }
  }

  private static RootBeanDefinition infrastructure(Class<?> type) {
    RootBeanDefinition definition = new RootBeanDefinition(type);
    definition.setRole(BeanDefinition.ROLE_INFRASTRUCTURE);
    definition.setAutowireMode(RootBeanDefinition.AUTOWIRE_CONSTRUCTOR);
    return definition;
  }
}
