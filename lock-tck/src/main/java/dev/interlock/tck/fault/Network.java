package dev.interlock.tck.fault;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * A {@link FaultProxy} in front of every address of a store's URI, and a URI that leads through the
 * proxies. If the servers tell clients other addresses than those in the URI, clients bypass the
 * proxies; {@link #traffic()} shows whether anything passes.
 */
public final class Network implements AutoCloseable {
  private final String uri;
  private final List<FaultProxy> proxies;

  private Network(String uri, List<FaultProxy> proxies) {
    this.uri = uri;
    this.proxies = List.copyOf(proxies);
  }

  /**
   * Puts proxies in front of a store.
   *
   * @param uri where the store is
   * @param defaultPort the port of an address without one, or 0 if there is no such port
   * @return the network, or empty if the URI has no addresses
   * @throws IOException if a proxy cannot listen
   */
  public static Optional<Network> inFrontOf(String uri, int defaultPort) throws IOException {
    Optional<StoreUri> parsed = StoreUri.parse(uri, defaultPort);
    if (parsed.isEmpty()) {
      return Optional.empty();
    }
    List<FaultProxy> proxies = new ArrayList<>();
    try {
      for (StoreUri.Address address : parsed.get().addresses()) {
        proxies.add(FaultProxy.to(address.host(), address.port()));
      }
    } catch (IOException e) {
      proxies.forEach(FaultProxy::close);
      throw e;
    }
    List<StoreUri.Address> local =
        proxies.stream().map(proxy -> new StoreUri.Address("127.0.0.1", proxy.port())).toList();
    return Optional.of(new Network(parsed.get().withAddresses(local), proxies));
  }

  /** {@return the URI that leads to the store through the proxies} */
  public String uri() {
    return uri;
  }

  /**
   * Returns the proxies.
   *
   * @return one for each address of the URI, in its order
   */
  public List<FaultProxy> proxies() {
    return proxies;
  }

  /**
   * Starts a fault on every proxy.
   *
   * @param fault starts it on one proxy, such as {@code FaultProxy::partition}
   * @return the active fault
   */
  public Disturbance everywhere(Function<FaultProxy, NetworkFault> fault) {
    return new Disturbance(proxies.stream().map(fault).toList());
  }

  /**
   * Silences all connections to all nodes, as {@link FaultProxy#partition} does.
   *
   * @return the active fault
   */
  public Disturbance partition() {
    return everywhere(FaultProxy::partition);
  }

  /**
   * Closes all connections to all nodes and refuses new ones.
   *
   * @return the active fault
   */
  public Disturbance cut() {
    return everywhere(FaultProxy::cut);
  }

  /**
   * Delays one direction.
   *
   * @param direction which
   * @param latency by how much
   * @return the active fault
   */
  public Disturbance delay(Direction direction, Duration latency) {
    return everywhere(proxy -> proxy.delay(direction, latency));
  }

  /**
   * Resets all connections.
   *
   * @return how many there were
   */
  public int reset() {
    return proxies.stream().mapToInt(FaultProxy::reset).sum();
  }

  /** Ends all faults. */
  public void heal() {
    proxies.forEach(FaultProxy::heal);
  }

  /** {@return the traffic of all proxies together} */
  public Traffic traffic() {
    Traffic sum = new Traffic(0, 0, new Traffic.Flow(0, 0, 0), new Traffic.Flow(0, 0, 0));
    for (FaultProxy proxy : proxies) {
      sum = sum.plus(proxy.traffic());
    }
    return sum;
  }

  @Override
  public void close() {
    proxies.forEach(FaultProxy::close);
  }

  @Override
  public String toString() {
    return "network " + proxies;
  }
}
