package dev.interlock.custom;

import dev.interlock.tck.specimen.Specimen;
import dev.interlock.tck.specimen.SpecimenSuite;
import dev.interlock.tck.specimen.SpecimenTable;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;

/** The kit refuses each backend with a queue over one Redis because of its fault. */
@Tag("extended")
class CustomQueueSpecimensTest extends SpecimenSuite {

  @Override
  protected List<Specimen> specimens() {
    return CustomSpecimens.of("queue");
  }

  @Override
  protected Optional<SpecimenTable> table() {
    return Optional.of(new SpecimenTable(Path.of("../../docs/specimens.md"), "custom queue"));
  }
}
