package dev.interlock.compare;

import dev.interlock.LockClient;
import dev.interlock.compare.baseline.BareDriver;
import dev.interlock.compare.baseline.Pairs;
import dev.interlock.spi.LockUri;

/**
 * Who is measured: our lock, the bare calls, or another library's lock.
 *
 * @param name what the tables call it
 * @param opener connects one client
 * @param <C> what its clients can do
 */
record Competitor<C extends Pairs>(String name, Opener<? extends C> opener) {
  static final String OURS = "Interlock";
  static final String BASELINE = "bare calls";

  /** Connects one client. */
  @FunctionalInterface
  interface Opener<C> {
    /**
     * {@return a client, connected}
     *
     * @param uri where the store is, in the form that {@code LockClient.open} takes
     * @param threads how many threads will use the client at once
     * @throws Exception if it cannot connect; the others go on without it
     */
    C open(String uri, int threads) throws Exception;
  }

  /** Our lock with its default options: fenced and renewed. */
  static Competitor<Locking> ours() {
    return new Competitor<>(OURS, (uri, threads) -> Locking.by(LockClient.open(uri)));
  }

  /** The least that the driver of a store has to do. */
  static Competitor<Pairs> baseline() {
    return new Competitor<>(BASELINE, (uri, threads) -> driver(uri).open(uri, threads));
  }

  /** The driver of a store, not yet connected. */
  static BareDriver driver(String uri) {
    String scheme = LockUri.parse(uri).scheme();
    return BareDriver.of(scheme)
        .orElseThrow(() -> new IllegalStateException("no bare driver for " + scheme));
  }
}
