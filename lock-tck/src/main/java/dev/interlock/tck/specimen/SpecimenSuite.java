package dev.interlock.tck.specimen;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;

/**
 * Tests specimens as a JUnit 5 test class. The rules that each specimen names must refuse it with
 * the expected words; with the system property {@code interlock.specimens.whole}, no other rule
 * may. Extend it and list the specimens:
 *
 * <pre>{@code
 * class MySpecimensTest extends SpecimenSuite {
 *   @Override
 *   protected List<Specimen> specimens() {
 *     return List.of(...);
 *   }
 * }
 * }</pre>
 *
 * <p>Several specimens run at once, since the kit's tests wait most of the time.
 */
public abstract class SpecimenSuite {
  /** The system property with a regular expression for the names of the specimens to run. */
  private static final String ONLY = "interlock.specimens.only";

  /** For subclasses. */
  protected SpecimenSuite() {}

  /** {@return the specimens, in the order of the document} */
  protected abstract List<Specimen> specimens();

  /**
   * Returns the table of the specimens.
   *
   * @return the part of a document that must agree with {@link #specimens}, or empty (the default)
   */
  protected Optional<SpecimenTable> table() {
    return Optional.empty();
  }

  /** {@return the number of specimens that run at once; 4 by default} */
  protected int atOnce() {
    return 4;
  }

  /** Throws an exception that skips a specimen; does nothing by default. */
  void checkIncluded(Specimen specimen) {}

  // for all specimens together; the kit limits each of its tests
  @TestFactory
  @Timeout(value = 15, unit = TimeUnit.MINUTES)
  Stream<DynamicTest> isRefusedByExactlyTheRulesThatItNames() {
    ExecutorService executor = Executors.newFixedThreadPool(atOnce());
    Map<Specimen, Future<SpecimenRun>> runs = new LinkedHashMap<>();
    Predicate<String> isSelected = Pattern.compile(System.getProperty(ONLY, "")).asPredicate();
    for (Specimen specimen : specimens()) {
      if (isSelected.test(specimen.name())) {
        runs.put(
            specimen,
            executor.submit(
                () -> {
                  checkIncluded(specimen);
                  return SpecimenRun.of(specimen);
                }));
      }
    }
    executor.shutdown();
    return runs.entrySet().stream()
        .map(
            entry ->
                DynamicTest.dynamicTest(
                    entry.getKey().name(), () -> assertAsDescribed(entry.getValue())));
  }

  private static void assertAsDescribed(Future<SpecimenRun> future) throws Exception {
    try {
      SpecimenRun run = future.get();
      System.out.println(run);
      run.assertAsDescribed();
    } catch (ExecutionException e) {
      throw e.getCause() instanceof Exception cause ? cause : e;
    }
  }

  @Test
  void theTableInTheDocumentIsThatOfTheCode() throws IOException {
    Optional<SpecimenTable> table = table();
    if (table.isPresent()) {
      table.get().check(specimens());
    }
  }
}
