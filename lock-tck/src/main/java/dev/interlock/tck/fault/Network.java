package dev.interlock.tck.fault;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
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
   * @param servers the store's addresses
   * @param uri returns the URI with the proxies' ports on the loopback address
   * @return the network, with a proxy for each address, in their order
   * @throws IOException if a proxy cannot listen, or a host is unknown
   */
  public static Network to(List<InetSocketAddress> servers, Function<List<Integer>, String> uri)
      throws IOException {
    List<FaultProxy> proxies = new ArrayList<>();
    try {
      for (InetSocketAddress server : servers) {
        proxies.add(FaultProxy.to(server.getHostString(), server.getPort()));
      }
    } catch (IOException e) {
      proxies.forEach(FaultProxy::close);
      throw e;
    }
    return new Network(uri.apply(proxies.stream().map(FaultProxy::port).toList()), proxies);
  }

  /** {@return the URI that leads to the store through the proxies} */
  public String uri() {
    return uri;
  }

  /** {@return the proxies, one for each address of the URI, in its order} */
  public List<FaultProxy> proxies() {
    return proxies;
  }

  /**
   * Starts a fault on every proxy.
   *
   * @param fault starts the fault on one proxy, such as {@code FaultProxy::partition}
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
   * @param direction the direction
   * @param latency the delay
   * @return the active fault
   */
  public Disturbance delay(Direction direction, Duration latency) {
    return everywhere(proxy -> proxy.delay(direction, latency));
  }

  /**
   * Resets all connections.
   *
   * @return the number of connections
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
