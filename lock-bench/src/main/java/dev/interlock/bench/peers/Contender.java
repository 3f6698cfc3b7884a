package dev.interlock.bench.peers;

/** One client of a store, which takes names and gives them back. Thread-safe. */
interface Contender extends AutoCloseable {

  /**
   * Takes and gives back a name that nobody else wants.
   *
   * @throws Exception if the store refuses or fails
   */
  void pair(String name) throws Exception;

  @Override
  void close() throws Exception;
}
