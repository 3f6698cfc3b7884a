package dev.interlock.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.context.annotation.Import;
import org.springframework.core.Ordered;

/**
 * Enables {@link Locked} for an application, on a configuration class. The Spring Boot starter has
 * it already.
 *
 * <pre>{@code
 * @Configuration
 * @EnableLocked
 * class LockConfiguration {
 *   @Bean
 *   LockClient lockClient() {
 *     return LockClient.open("redis://localhost:6379");
 *   }
 * }
 * }</pre>
 *
 * <p>Proxies are created as for {@code @Transactional}. AspectJ is not needed.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Import(LockedRegistrar.class)
public @interface EnableLocked {

  /**
   * The order of the lock among a method's advisors, as in {@link Ordered}. The lock must come
   * before the transaction, whose default is {@link Ordered#LOWEST_PRECEDENCE}; otherwise the bean
   * is refused at start. If several configurations have the annotation, the first one decides.
   *
   * @return the order
   */
  int order() default Ordered.LOWEST_PRECEDENCE - 100;
}
