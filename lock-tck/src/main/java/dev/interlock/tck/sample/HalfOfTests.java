package dev.interlock.tck.sample;

import java.lang.reflect.Method;
import java.util.Set;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;

/**
 * The half of a test class that is in the {@link Sample}. Of two classes with the same tests and
 * the same key, one runs the first half and the other the second. Tests that do not apply are still
 * reported as such.
 */
public final class HalfOfTests implements InvocationInterceptor {
  private final String key;
  private final int half;
  private final Set<String> always;

  private HalfOfTests(String key, int half, String... always) {
    this.key = key;
    this.half = half;
    this.always = Set.of(always);
  }

  /**
   * Makes an extension for the first of the two classes.
   *
   * @param key the same for both
   * @param always methods that run in any case
   * @return the extension
   */
  public static HalfOfTests first(String key, String... always) {
    return new HalfOfTests(key, 0, always);
  }

  /**
   * Makes an extension for the second of the two classes.
   *
   * @param key the same for both
   * @param always methods that run in any case
   * @return the extension
   */
  public static HalfOfTests second(String key, String... always) {
    return new HalfOfTests(key, 1, always);
  }

  @Override
  public void interceptTestMethod(
      Invocation<Void> invocation,
      ReflectiveInvocationContext<Method> method,
      ExtensionContext context)
      throws Throwable {
    String name = method.getExecutable().getName();
    Sample.require(sample -> always.contains(name) || sample.draw(key + '/' + name) % 2 == half);
    invocation.proceed();
  }
}
