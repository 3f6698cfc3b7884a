package dev.interlock.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.context.annotation.Import;
import org.springframework.core.Ordered;

/**
 * Enables {@link Locked} when placed on a configuration class. The Spring Boot starter does so too.
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
 * <p>Proxies are made as for {@code @Transactional}, and AspectJ is not needed.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Import(LockedRegistrar.class)
public @interface EnableLocked {

  /**
   * The place of the lock among a method's advisors, as in {@link Ordered}. It must come before the
   * transaction, whose default is {@link Ordered#LOWEST_PRECEDENCE}; a bean for which it does not
   * is refused at start. Where several configurations have the annotation, the first decides.
   *
   * @return the order
   */
  int order() default Ordered.LOWEST_PRECEDENCE - 100;
}
