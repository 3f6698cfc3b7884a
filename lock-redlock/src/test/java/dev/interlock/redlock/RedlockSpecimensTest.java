package dev.interlock.redlock;

import dev.interlock.tck.specimen.Specimen;
import dev.interlock.tck.specimen.SpecimenSuite;
import dev.interlock.tck.specimen.SpecimenTable;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;

/** The kit refuses wrong Redlocks, and finds the fault of each. */
@Tag("extended")
class RedlockSpecimensTest extends SpecimenSuite {

  @Override
  protected List<Specimen> specimens() {
    return LiteratureRedlocks.all();
  }

  @Override
  protected Optional<SpecimenTable> table() {
    return Optional.of(new SpecimenTable(Path.of("../docs/specimens.md"), "lock-redlock"));
  }
}
