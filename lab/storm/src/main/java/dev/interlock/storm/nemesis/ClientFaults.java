package dev.interlock.storm.nemesis;

import dev.interlock.storm.workers.Client;
import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.fault.NetworkFault;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** Faults of clients, and of the network between a client and the store. */
final class ClientFaults {
  private static final Duration LATENCY = Duration.ofMillis(300);

  private ClientFaults() {}

  static Injection inject(FaultKind kind, Client client, int choice) throws Exception {
    return switch (kind) {
      case KILL_CLIENT -> {
        client.process().kill();
        yield new Injection(client.name(), "", client.process()::restart);
      }
      case STOP_CLIENT -> {
        client.process().stop();
        yield new Injection(client.name(), "", client.process()::resume);
      }
      case RESET -> reset(client);
      case MOVE_ADDRESSES -> move(client, choice);
      case CUT -> disturb(client, FaultProxy::cut);
      case PARTITION -> disturb(client, FaultProxy::partition);
      case SILENCE -> disturb(client, FaultProxy::silenceOpenConnections);
      case LOSE_REQUESTS -> disturb(client, p -> p.blackHole(Direction.CLIENT_TO_SERVER));
      case LOSE_REPLIES -> disturb(client, p -> p.blackHole(Direction.SERVER_TO_CLIENT));
      case HOLD_REQUESTS -> disturb(client, p -> p.hold(Direction.CLIENT_TO_SERVER));
      case HOLD_REPLIES -> disturb(client, p -> p.hold(Direction.SERVER_TO_CLIENT));
      case OVERTAKE -> disturb(client, p -> p.holdOpenConnections(Direction.CLIENT_TO_SERVER));
      case DELAY -> disturb(client, p -> p.delay(Direction.SERVER_TO_CLIENT, LATENCY));
      default -> throw new IllegalArgumentException(kind + " is not a fault of clients");
    };
  }

  private static Network network(Client client) {
    return client
        .network()
        .orElseThrow(() -> new IllegalArgumentException(client.name() + " has no network"));
  }

  private static Injection disturb(Client client, Function<FaultProxy, NetworkFault> fault) {
    return injection(client, network(client).everywhere(fault), "");
  }

  private static Injection move(Client client, int choice) {
    List<FaultProxy> proxies = network(client).proxies();
    int server = choice % proxies.size();
    int movedAddresses = 1 + choice / proxies.size() % (proxies.size() - 1);
    List<NetworkFault> faults = new ArrayList<>();
    for (int i = 1; i <= movedAddresses; i++) {
      FaultProxy proxy = proxies.get((server + i) % proxies.size());
      faults.add(proxy.redirectTo(proxies.get(server).upstream()));
    }
    return injection(
        client,
        new Disturbance(faults),
        "server " + (server + 1) + " has " + (movedAddresses + 1) + " addresses");
  }

  private static Injection injection(Client client, Disturbance disturbance, String note) {
    return new Injection(
        client.name(), () -> disturbance.hits() > 0, () -> note, disturbance::close);
  }

  private static Injection reset(Client client) {
    int connections = network(client).reset();
    String note = connections + (connections == 1 ? " connection" : " connections");
    return new Injection(client.name(), () -> connections > 0, () -> note, () -> {});
  }
}
