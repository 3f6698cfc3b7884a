package dev.interlock.tck.sample;

import java.lang.reflect.Method;
import java.util.Set;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;

/**
 * Distributes the tests that several classes have in common among these classes, as drawn by the
 * {@link Sample}. A test that does not apply is still reported as such.
 */
public final class PartOfTests implements InvocationInterceptor {
  private final String key;
  private final int part;
  private final int parts;
  private final Set<String> always;

  /**
   * Creates an extension for one of the classes.
   *
   * @param key the group's name without spaces, the same in all its classes
   * @param part the number of this class, from 0
   * @param parts the number of classes in the group
   * @param always names of the methods that every sample includes
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
        sample -> always.contains(name) || sample.draw(key + '/' + name) % parts == part,
        // read by tools/test-results
        "left to another of the %d classes of %s by the sample of this commit (./verify --all runs it)"
            .formatted(parts, key));
    invocation.proceed();
  }
}
