package dev.interlock.peers;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.function.Function;

/** Makes objects that refuse what a library does not have. */
final class Refusals {
  private Refusals() {}

  /**
   * {@return an object that passes the calls which another one takes on to it, and refuses the
   * others}
   *
   * @param type its interface
   * @param offered has some of the methods
   * @param refusal makes an exception for the name of each other method
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
