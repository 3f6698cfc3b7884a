package dev.interlock.spi;

import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.internal.ClientFactory;

/**
 * Opens clients with clocks other than the JVM's, for tests that simulate a sleeping machine or let
 * a TTL pass without waiting.
 */
public final class ClientsWithTimeSource {

  private ClientsWithTimeSource() {}

  /**
   * Opens a client as {@link LockClient#open(String, LockOptions)} does, with the given clocks.
   *
   * @param uri the URI of the store
   * @param options the client's options
   * @param time the clocks of the client and its backend
   * @return a new client
   * @throws dev.interlock.LockConfigurationException if the URI cannot work
   * @throws dev.interlock.LockUnavailableException if the store does not answer
   */
  public static LockClient open(String uri, LockOptions options, TimeSource time) {
    return ClientFactory.open(uri, options, time);
  }

  /**
   * Opens a client as {@link LockClient#using} does, with the given clocks.
   *
   * @param factory opens the backend
   * @param options the client's options
   * @param time the clocks of the client and its backend
   * @return a new client
   * @throws dev.interlock.LockConfigurationException if the backend refuses its settings
   * @throws dev.interlock.LockUnavailableException if the store does not answer
   */
  public static LockClient using(BackendFactory factory, LockOptions options, TimeSource time) {
    return ClientFactory.using(factory, options, time);
  }
}
