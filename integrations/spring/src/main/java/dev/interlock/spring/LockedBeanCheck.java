package dev.interlock.spring;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.aopalliance.aop.Advice;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.Advisor;
import org.springframework.aop.PointcutAdvisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopInfrastructureBean;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.interceptor.AsyncExecutionInterceptor;
import org.springframework.aop.scope.ScopedObject;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Refuses beans with {@link Locked} methods that would run without the lock. It has no order, so it
 * runs after all post processors that create proxies.
 */
final class LockedBeanCheck implements BeanPostProcessor, SmartInitializingSingleton {

  private static final String TRANSACTION = "org.springframework.transaction.interceptor.";

  private final ConfigurableListableBeanFactory beans;
  private final Set<Class<?>> typesWithoutLocks = ConcurrentHashMap.newKeySet();

  /** The methods whose client is checked when all singletons have been created. */
  private final Set<LockedMethod> uncheckedClients = new LinkedHashSet<>();

  private boolean started;

  LockedBeanCheck(ConfigurableListableBeanFactory beans) {
    this.beans = beans;
  }

  private LockedMethods methods() {
    return beans.getBean(LockedAdvisor.class).methods();
  }

  @Override
  public Object postProcessAfterInitialization(Object bean, String name) {
    check(bean);
    return bean;
  }

  /** Checks the beans that were created before this one, which it has not post-processed. */
  @Override
  public void afterSingletonsInstantiated() {
    for (String name : beans.getBeanDefinitionNames()) {
      Object bean = beans.containsSingleton(name) ? beans.getSingleton(name) : null;
      if (bean != null) {
        check(bean);
      }
    }
    Set<LockedMethod> methods;
    synchronized (uncheckedClients) {
      started = true;
      methods = new LinkedHashSet<>(uncheckedClients);
      uncheckedClients.clear();
    }
    methods.forEach(this::checkClient);
  }

  private void check(Object bean) {
    if (bean instanceof ScopedObject || bean instanceof AopInfrastructureBean) {
      return;
    }
    Class<?> type = AopProxyUtils.ultimateTargetClass(bean);
    if (!AnnotationUtils.isCandidateClass(type, Locked.class) || typesWithoutLocks.contains(type)) {
      return;
    }
    boolean hasLocks = false;
    for (Method method : ReflectionUtils.getUniqueDeclaredMethods(type)) {
      if (!method.isSynthetic() && AnnotatedElementUtils.hasAnnotation(method, Locked.class)) {
        hasLocks = true;
        check(bean, method, type);
      }
    }
    if (!hasLocks) {
      typesWithoutLocks.add(type);
    }
  }

  private void check(Object bean, Method method, Class<?> type) {
    LockedMethod locked = methods().get(method, type);
    int modifiers = method.getModifiers();
    for (int refused : new int[] {Modifier.PRIVATE, Modifier.STATIC, Modifier.FINAL}) {
      if ((modifiers & refused) != 0
          && !(refused == Modifier.FINAL && AopUtils.isJdkDynamicProxy(bean))) {
        throw locked.refuse(
            "the method is "
                + Modifier.toString(refused)
                + ", so a proxy cannot intercept it; remove the modifiers private, static and"
                + " final");
      }
    }
    Advised proxy = proxyWithLock(bean);
    if (proxy == null) {
      throw locked.refuse(
          "the bean has no proxy that acquires the lock; it was created by hand, or too early"
              + " because a BeanPostProcessor or BeanFactoryPostProcessor needs it");
    }
    if (AopUtils.isJdkDynamicProxy(proxy) && !isInInterface(proxy, method)) {
      throw locked.refuse(
          "the bean's proxy implements only its interfaces, and none of them has this method;"
              + " declare the method in an interface, or proxy the class:"
              + " @Proxyable(ProxyType.TARGET_CLASS)");
    }
    checkOrder(locked, proxy, method, type);
    synchronized (uncheckedClients) {
      if (!started) {
        uncheckedClients.add(locked);
        return;
      }
    }
    checkClient(locked);
  }

  private static @Nullable Advised proxyWithLock(Object bean) {
    Object current = bean;
    while (current instanceof Advised proxy) {
      if (Arrays.stream(proxy.getAdvisors()).anyMatch(LockedAdvisor.class::isInstance)) {
        return proxy;
      }
      current = AopProxyUtils.getSingletonTarget(proxy);
    }
    return null;
  }

  private static boolean isInInterface(Advised proxy, Method method) {
    return Arrays.stream(proxy.getProxiedInterfaces())
        .anyMatch(
            proxied -> ClassUtils.hasMethod(proxied, method.getName(), method.getParameterTypes()));
  }

  private static void checkOrder(LockedMethod locked, Advised proxy, Method method, Class<?> type) {
    boolean isBeforeLock = true;
    for (Advisor advisor : proxy.getAdvisors()) {
      if (advisor instanceof LockedAdvisor) {
        isBeforeLock = false;
      } else if (advisor instanceof PointcutAdvisor pointcut
          && pointcut.getPointcut().getMethodMatcher().matches(method, type)) {
        Advice advice = advisor.getAdvice();
        if (isBeforeLock && advice.getClass().getName().startsWith(TRANSACTION)) {
          throw locked.refuse(
              "its transaction would begin before the lock is acquired, and commit after the lock"
                  + " is released; give @EnableLocked an order below that of the transaction");
        }
        if (!isBeforeLock && advice instanceof AsyncExecutionInterceptor) {
          throw locked.refuse(
              "@Async would release the lock as soon as the work is started; put @Locked on a"
                  + " method of another bean, and call that from the work");
        }
      }
    }
  }

  private void checkClient(LockedMethod locked) {
    locked.checkWith(methods().client(locked));
  }
}
