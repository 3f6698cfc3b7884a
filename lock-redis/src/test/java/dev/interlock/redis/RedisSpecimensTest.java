package dev.interlock.redis;

import dev.interlock.tck.specimen.Specimen;
import dev.interlock.tck.specimen.SpecimenSuite;
import dev.interlock.tck.specimen.SpecimenTable;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;

/** The kit refuses wrong locks on Redis, and finds the fault of each. */
@Tag("extended")
class RedisSpecimensTest extends SpecimenSuite {

  @Override
  protected List<Specimen> specimens() {
    return Stream.of(LiteratureLocks.all(), RedisMutants.all()).flatMap(List::stream).toList();
  }

  @Override
  protected Optional<SpecimenTable> table() {
    return Optional.of(new SpecimenTable(Path.of("../docs/specimens.md"), "lock-redis"));
  }
}
