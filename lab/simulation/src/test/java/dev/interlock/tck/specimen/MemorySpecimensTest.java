package dev.interlock.tck.specimen;

import static java.util.Comparator.comparingLong;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.interlock.tck.sample.Sample;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * The kit refuses every mutant of the in-memory reference for the right reason. A default run tests
 * a sample of them, in which each rule refuses at least one mutant.
 */
class MemorySpecimensTest extends SpecimenSuite {

  /** Draws an order of the mutants, and takes each mutant that a new rule refuses. */
  private static Set<String> draw(Sample sample) {
    Set<String> rules = new HashSet<>();
    return MemorySpecimens.all().stream()
        .sorted(comparingLong(specimen -> sample.draw(specimen.name())))
        .filter(specimen -> rules.addAll(specimen.refusedBy()))
        .map(Specimen::name)
        .collect(Collectors.toSet());
  }

  @Override
  protected List<Specimen> specimens() {
    return MemorySpecimens.all();
  }

  @Override
  void checkIncluded(Specimen specimen) {
    Sample.require(sample -> draw(sample).contains(specimen.name()));
  }

  /** Many at once, because the mutants mostly wait. */
  @Override
  protected int atOnce() {
    return 16;
  }

  @Override
  protected Optional<SpecimenTable> table() {
    return Optional.of(new SpecimenTable(Path.of("../../docs/specimens.md"), "lock-tck"));
  }

  @Test
  void everyRuleRefusesAMutantOfEachSampleAndEveryMutantIsInASample() {
    Set<String> ever = new HashSet<>();
    for (int commit = 0; commit < 200; commit++) {
      Set<String> drawn = draw(new Sample("commit " + commit));
      assertEquals(rules(specimen -> true), rules(specimen -> drawn.contains(specimen.name())));
      ever.addAll(drawn);
    }
    assertEquals(MemorySpecimens.all().size(), ever.size());
  }

  private static Set<String> rules(Predicate<Specimen> some) {
    return MemorySpecimens.all().stream()
        .filter(some)
        .flatMap(specimen -> specimen.refusedBy().stream())
        .collect(Collectors.toSet());
  }
}
