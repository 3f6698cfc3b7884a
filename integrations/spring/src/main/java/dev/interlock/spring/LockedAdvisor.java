package dev.interlock.spring;

import java.lang.reflect.Method;
import org.springframework.aop.ClassFilter;
import org.springframework.aop.support.StaticMethodMatcherPointcutAdvisor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.annotation.AnnotationUtils;

/** Applies {@link LockedInterceptor} to the methods with {@link Locked}. */
final class LockedAdvisor extends StaticMethodMatcherPointcutAdvisor {

  private static final long serialVersionUID = 1L;

  private final transient LockedMethods methods;

  LockedAdvisor(ConfigurableListableBeanFactory beans) {
    this.methods = new LockedMethods(beans);
    setClassFilter(new Candidates());
    setAdvice(new LockedInterceptor(methods));
  }

  LockedMethods methods() {
    return methods;
  }

  @Override
  public boolean matches(Method method, Class<?> type) {
    return LockedMethods.isLocked(method, type);
  }

  /** Excludes classes that cannot have the annotation, such as those of the JDK. */
  private record Candidates() implements ClassFilter {
    @Override
    public boolean matches(Class<?> type) {
      return AnnotationUtils.isCandidateClass(type, Locked.class);
    }
  }
}
