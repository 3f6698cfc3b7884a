package dev.interlock.tck.specimen;

import java.util.List;
import java.util.Optional;

/** The kit refuses every mutant of the in-memory reference, for what is wrong with it. */
class MemorySpecimensTest extends SpecimenSuite {

  @Override
  protected List<Specimen> specimens() {
    return MemorySpecimens.all();
  }

  /** They hardly need a processor; most of what they do is to wait for a bound to pass. */
  @Override
  protected int atOnce() {
    return 16;
  }

  @Override
  protected Optional<SpecimenTable> table() {
    return Optional.of(new SpecimenTable(SpecimenCoverageTest.DOCUMENT, "lock-tck"));
  }
}
