package dev.interlock.spi;

import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.internal.ClientFactory;

/**
 * Opens clients that go by other clocks than the JVM's, for tests: of what happens when a machine
 * sleeps, or without waiting for TTLs to pass.
 */
public final class ClientsWithTimeSource {

  private ClientsWithTimeSource() {}

  /**
   * Does what {@link LockClient#open(String, LockOptions)} does, on the given clocks.
   *
   * @param uri where the store is
   * @param options the client's options
   * @param time the clocks that the client and its backend go by
   * @return a new client
   * @throws dev.interlock.LockConfigurationException if the URI cannot work
   * @throws dev.interlock.LockUnavailableException if the store does not answer
   */
  public static LockClient open(String uri, LockOptions options, TimeSource time) {
    return ClientFactory.open(uri, options, time);
  }

  /**
   * Does what {@link LockClient#using} does, on the given clocks.
   *
   * @param factory makes the backend
   * @param options the client's options
   * @param time the clocks that the client and its backend go by
   * @return a new client
   * @throws dev.interlock.LockConfigurationException if the backend refuses its settings
   * @throws dev.interlock.LockUnavailableException if the store does not answer
   */
  public static LockClient using(BackendFactory factory, LockOptions options, TimeSource time) {
    return ClientFactory.using(factory, options, time);
  }
}
