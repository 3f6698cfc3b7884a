package dev.interlock.tck.sample;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.platform.testkit.engine.EngineTestKit;

class PartOfTestsTest {

  private static final String PROPERTY = "interlock.sample";

  private final String before = System.getProperty(PROPERTY);

  @AfterEach
  void restore() {
    if (before == null) {
      System.clearProperty(PROPERTY);
    } else {
      System.setProperty(PROPERTY, before);
    }
  }

  abstract static class Tests {
    @Test
    void one() {}

    @Test
    void two() {}

    @Test
    void three() {}

    @Test
    void always() {}
  }

  static class First extends Tests {
    @RegisterExtension static final PartOfTests SAMPLE = new PartOfTests("key", 0, 2, "always");
  }

  static class Second extends Tests {
    @RegisterExtension static final PartOfTests SAMPLE = new PartOfTests("key", 1, 2, "always");
  }

  static class Slow extends Tests {
    @RegisterExtension static final SomeTests SAMPLE = new SomeTests();
  }

  private static List<String> run(Class<?> tests) {
    return EngineTestKit.engine("junit-jupiter")
        .selectors(selectClass(tests))
        .execute()
        .testEvents()
        .succeeded()
        .stream()
        .map(event -> event.getTestDescriptor().getDisplayName())
        .toList();
  }

  @Test
  void eachTestIsInOnePartAndWithoutASampleAllRun() {
    for (String commit : List.of("one commit", "another", "a third")) {
      System.setProperty(PROPERTY, commit);
      List<String> ran = new ArrayList<>(run(First.class));
      ran.addAll(run(Second.class));
      assertTrue(ran.remove("always()"));
      assertEquals(4, ran.size());
      assertEquals(4, new HashSet<>(ran).size());
    }
    System.clearProperty(PROPERTY);
    assertEquals(4, run(First.class).size());
  }

  @Test
  void ofAClassThatTakesLongCommitsRunDifferentTests() {
    List<String> ran = new ArrayList<>();
    for (int commit = 0; commit < 30; commit++) {
      System.setProperty(PROPERTY, "commit " + commit);
      ran.addAll(run(Slow.class));
    }
    assertEquals(4, new HashSet<>(ran).size());
    assertTrue(ran.size() < 80, () -> ran.size() + " of 120");
    System.clearProperty(PROPERTY);
    assertEquals(4, run(Slow.class).size());
  }
}
