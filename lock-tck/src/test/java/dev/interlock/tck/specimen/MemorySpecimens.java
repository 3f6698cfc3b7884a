package dev.interlock.tck.specimen;

import java.util.List;
import java.util.stream.Stream;

/** All mutants of the in-memory reference. */
public final class MemorySpecimens {

  private MemorySpecimens() {}

  static List<Specimen> of(Specimen.Builder... descriptions) {
    return Stream.of(descriptions).map(Specimen.Builder::build).toList();
  }

  /** {@return the mutants, in the order of the document} */
  public static List<Specimen> all() {
    return Stream.of(
            StoreMutants.all(),
            LockMutants.all(),
            ListingMutants.all(),
            ProviderMutants.all(),
            LeaseMutants.all(),
            BatchMutants.all(),
            TokenMutants.all(),
            ViewMutants.all(),
            SetMutants.all(),
            ShareMutants.all(),
            SharedLockMutants.all(),
            ElectionMutants.all())
        .flatMap(List::stream)
        .toList();
  }
}
