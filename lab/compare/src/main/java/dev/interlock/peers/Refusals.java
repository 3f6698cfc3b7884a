package dev.interlock.peers;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.function.Function;

/** Creates proxies that refuse the operations that a library does not have. */
final class Refusals {
  private Refusals() {}

  /**
   * {@return a proxy that forwards calls to an object if that has the method, and otherwise throws}
   *
   * @param type the interface of the proxy
   * @param offered the object with some of the methods
   * @param refusal returns the exception for the name of any other method
   */
  static <T> T of(Class<T> type, Object offered, Function<String, RuntimeException> refusal) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> {
              if (!method.getDeclaringClass().isInstance(offered)) {
                throw refusal.apply(method.getName());
              }
              try {
                return method.invoke(offered, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            }));
  }
}
