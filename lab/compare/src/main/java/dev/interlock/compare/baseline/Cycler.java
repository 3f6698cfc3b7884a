package dev.interlock.compare.baseline;

/**
 * A thread-safe client that acquires and releases uncontended names. One acquisition and its
 * release are a cycle.
 */
public interface Cycler extends AutoCloseable {

  /**
   * Acquires and releases a name once.
   *
   * @throws Exception if the name is held, or if the store fails
   */
  void cycle(String name) throws Exception;

  @Override
  void close() throws Exception;

  /** {@return this client, whose {@code close} also closes the resource afterwards} */
  default Cycler alsoClosing(AutoCloseable resource) {
    Cycler client = this;
    return new Cycler() {
      @Override
      public void cycle(String name) throws Exception {
        client.cycle(name);
      }

      @Override
      public void close() throws Exception {
        try (resource) {
          client.close();
        }
      }
    };
  }
}
