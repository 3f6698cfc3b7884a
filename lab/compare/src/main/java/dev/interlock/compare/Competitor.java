package dev.interlock.compare;

import dev.interlock.LockClient;
import dev.interlock.compare.baseline.BareDriver;
import dev.interlock.compare.baseline.Cycler;
import dev.interlock.spi.LockUri;

/**
 * A lock that is measured: ours, the bare calls, or that of another library.
 *
 * @param name its name in the tables
 * @param opener connects one client
 * @param <C> the type of its clients
 */
record Competitor<C extends Cycler>(String name, Opener<? extends C> opener) {
  static final String OURS = "Interlock";
  static final String BASELINE = "bare calls";

  /** Connects one client. */
  @FunctionalInterface
  interface Opener<C> {
    /**
     * {@return a connected client}
     *
     * @param uri the URI of the store, as {@code LockClient.open} takes it
     * @param threads the number of threads that will use the client concurrently
     * @throws Exception if it cannot connect; the other competitors go on without it
     */
    C open(String uri, int threads) throws Exception;
  }

  /** {@return our lock with its default options: fenced and renewed} */
  static Competitor<Locking> ours() {
    return new Competitor<>(OURS, (uri, threads) -> Locking.locks(LockClient.open(uri)));
  }

  /** {@return the minimum that the driver of the store has to do} */
  static Competitor<Cycler> baseline() {
    return new Competitor<>(BASELINE, (uri, threads) -> driver(uri).open(uri, threads));
  }

  /** {@return the bare driver of a store, not yet connected} */
  static BareDriver driver(String uri) {
    String scheme = LockUri.parse(uri).scheme();
    return BareDriver.of(scheme)
        .orElseThrow(
            () -> new IllegalStateException("there is no bare driver for the scheme " + scheme));
  }
}
