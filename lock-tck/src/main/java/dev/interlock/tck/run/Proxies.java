package dev.interlock.tck.run;

import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.fault.RedisErrors;
import java.io.IOException;
import java.util.Optional;

/** Puts proxies in front of the store that a URI names. */
public final class Proxies {
  private Proxies() {}

  /**
   * Puts a {@link FaultProxy} in front of every address of a store.
   *
   * @param uri the store's URI
   * @param defaultPort the port of an address without one, or 0 for none
   * @return the network, or empty if the URI has no host and port
   * @throws IOException if a proxy cannot listen
   */
  public static Optional<Network> network(String uri, int defaultPort) throws IOException {
    Optional<StoreUri> store = StoreUri.parse(uri, defaultPort);
    return store.isEmpty()
        ? Optional.empty()
        : Optional.of(Network.to(store.get().addresses(), store.get()::withLocalPorts));
  }

  /**
   * Puts proxies that can answer Redis commands with errors in front of every address of a store.
   *
   * @param uri the store's URI
   * @param defaultPort the port of an address without one, or 0 for none
   * @return the proxies, or empty if the URI has no host and port
   * @throws IOException if a proxy cannot listen
   */
  public static Optional<RedisErrors> redisErrors(String uri, int defaultPort) throws IOException {
    Optional<StoreUri> store = StoreUri.parse(uri, defaultPort);
    return store.isEmpty()
        ? Optional.empty()
        : Optional.of(RedisErrors.to(store.get().addresses(), store.get()::withLocalPorts));
  }
}
