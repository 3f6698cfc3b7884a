package dev.interlock.compare.baseline;

/** A client that acquires and releases uncontended names. Thread-safe. */
public interface Pairs extends AutoCloseable {

  /**
   * Acquires and releases a name.
   *
   * @throws Exception if the store refuses or fails
   */
  void pair(String name) throws Exception;

  @Override
  void close() throws Exception;

  /** {@return this client; closing it also closes, afterwards, what it needs} */
  default Pairs over(AutoCloseable needed) {
    Pairs client = this;
    return new Pairs() {
      @Override
      public void pair(String name) throws Exception {
        client.pair(name);
      }

      @Override
      public void close() throws Exception {
        try (needed) {
          client.close();
        }
      }
    };
  }
}
