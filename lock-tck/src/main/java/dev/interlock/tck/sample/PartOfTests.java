package dev.interlock.tck.sample;

import java.lang.reflect.Method;
import java.util.Set;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;

/**
 * The part of a test class that is in the {@link Sample}. Of several classes with the same tests
 * and the same key, each runs another part. Tests that do not apply are still reported as such.
 */
public final class PartOfTests implements InvocationInterceptor {
  private final String key;
  private final int part;
  private final int parts;
  private final Set<String> always;

  /**
   * Makes an extension for one of the classes.
   *
   * @param key the same for all of them
   * @param part from 0 on
   * @param parts how many there are
   * @param always methods that run in any case
   */
  public PartOfTests(String key, int part, int parts, String... always) {
    this.key = key;
    this.part = part;
    this.parts = parts;
    this.always = Set.of(always);
  }

  @Override
  public void interceptTestMethod(
      Invocation<Void> invocation,
      ReflectiveInvocationContext<Method> method,
      ExtensionContext context)
      throws Throwable {
    String name = method.getExecutable().getName();
    Sample.require(
        sample -> always.contains(name) || sample.draw(key + '/' + name) % parts == part);
    invocation.proceed();
  }
}
