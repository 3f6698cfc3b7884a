package dev.interlock.spring;

import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.beans.factory.NoUniqueBeanDefinitionException;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.expression.AnnotatedElementKey;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotations;

/** The {@link Locked} methods of the application, each read once. */
final class LockedMethods {

  private final Map<AnnotatedElementKey, LockedMethod> methods = new ConcurrentHashMap<>();
  private final ConfigurableListableBeanFactory beans;

  LockedMethods(ConfigurableListableBeanFactory beans) {
    this.beans = beans;
  }

  static boolean isLocked(Method method, Class<?> type) {
    return AnnotatedElementUtils.hasAnnotation(
        AopUtils.getMostSpecificMethod(method, type), Locked.class);
  }

  /**
   * Returns the {@link LockedMethod} of a method that {@linkplain #isLocked is locked}.
   *
   * @throws LockConfigurationException if the annotation cannot work on the method
   */
  LockedMethod get(Method method, Class<?> type) {
    Method specific = AopUtils.getMostSpecificMethod(method, type);
    return methods.computeIfAbsent(
        new AnnotatedElementKey(specific, type),
        key -> {
          MergedAnnotation<Locked> annotation =
              MergedAnnotations.from(specific, MergedAnnotations.SearchStrategy.TYPE_HIERARCHY)
                  .get(Locked.class);
          return LockedMethod.read(annotation.synthesize(), specific, type, beans);
        });
  }

  /**
   * Returns the client of a method.
   *
   * @throws LockConfigurationException if there is none, or several of which none is primary
   */
  LockClient client(LockedMethod method) {
    String name = method.client();
    try {
      return name.isEmpty()
          ? beans.getBean(LockClient.class)
          : beans.getBean(name, LockClient.class);
    } catch (NoUniqueBeanDefinitionException e) {
      throw method.refuse(
          "there are several LockClient beans; select one with client = \"...\", or mark one"
              + " @Primary: "
              + e.getBeanNamesFound());
    } catch (NoSuchBeanDefinitionException e) {
      throw method.refuse(
          name.isEmpty()
              ? "there is no LockClient bean; declare one, or use the Spring Boot starter and set"
                  + " interlock.uri"
              : "there is no LockClient bean named "
                  + name
                  + "; the LockClient beans are "
                  + String.join(", ", beans.getBeanNamesForType(LockClient.class)));
    }
  }
}
