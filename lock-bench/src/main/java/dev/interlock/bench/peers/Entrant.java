package dev.interlock.bench.peers;

/**
 * Who takes part in a measurement.
 *
 * @param name what the tables call it
 * @param opener connects one client
 * @param <C> what its clients can do
 */
record Entrant<C extends Contender>(String name, Opener<? extends C> opener) {
  static final String OURS = "Interlock";
  static final String FLOOR = "bare calls";

  /** Connects one client. */
  @FunctionalInterface
  interface Opener<C> {
    /**
     * Connects.
     *
     * @param uri where the store is, in the form that {@code LockClient.open} takes
     * @param threads how many threads will use the client at once
     * @throws Exception if that is not possible; the others go on without it
     */
    C open(String uri, int threads) throws Exception;
  }

  /** Our lock with its default options: fenced and renewed. */
  static Entrant<WaitingContender> ours() {
    return new Entrant<>(OURS, (uri, threads) -> new Ours(uri));
  }

  /** The least that the driver of a store has to do. */
  static Entrant<Contender> floor() {
    return new Entrant<>(FLOOR, (uri, threads) -> new Floor(Floor.of(uri).open(uri, threads)));
  }
}
