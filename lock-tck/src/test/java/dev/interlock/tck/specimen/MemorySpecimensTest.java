package dev.interlock.tck.specimen;

import java.util.List;
import java.util.Optional;

/** The kit refuses every mutant of the in-memory reference for the right reason. */
class MemorySpecimensTest extends SpecimenSuite {

  @Override
  protected List<Specimen> specimens() {
    return MemorySpecimens.all();
  }

  /** They use little processor time: most of the time they wait. */
  @Override
  protected int atOnce() {
    return 16;
  }

  @Override
  protected Optional<SpecimenTable> table() {
    return Optional.of(new SpecimenTable(SpecimenCoverageTest.DOCUMENT, "lock-tck"));
  }
}
