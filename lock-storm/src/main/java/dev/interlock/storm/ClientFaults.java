package dev.interlock.storm;

import dev.interlock.tck.fault.Direction;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.fault.NetworkFault;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** What is done to clients, and to their way to the store. */
final class ClientFaults {
  private static final Duration LATENCY = Duration.ofMillis(300);

  private ClientFaults() {}

  static Injection deal(FaultKind kind, Clients clients, int client, int choice) throws Exception {
    return switch (kind) {
      case KILL_CLIENT -> {
        clients.kill(client);
        yield injection(clients.name(client), () -> clients.restart(client));
      }
      case STOP_CLIENT -> {
        clients.stop(client);
        yield injection(clients.name(client), () -> clients.resume(client));
      }
      case RESET -> reset(clients, client);
      case MOVE_ADDRESSES -> move(clients, client, choice);
      case CUT -> disturb(clients, client, FaultProxy::cut);
      case PARTITION -> disturb(clients, client, FaultProxy::partition);
      case SILENCE -> disturb(clients, client, FaultProxy::silenceOpenConnections);
      case LOSE_REQUESTS -> disturb(clients, client, p -> p.blackHole(Direction.CLIENT_TO_SERVER));
      case LOSE_REPLIES -> disturb(clients, client, p -> p.blackHole(Direction.SERVER_TO_CLIENT));
      case HOLD_REQUESTS -> disturb(clients, client, p -> p.hold(Direction.CLIENT_TO_SERVER));
      case HOLD_REPLIES -> disturb(clients, client, p -> p.hold(Direction.SERVER_TO_CLIENT));
      case OVERTAKE ->
          disturb(clients, client, p -> p.holdOpenConnections(Direction.CLIENT_TO_SERVER));
      case DELAY -> disturb(clients, client, p -> p.delay(Direction.SERVER_TO_CLIENT, LATENCY));
      default -> throw new IllegalArgumentException(kind + " does not hit clients");
    };
  }

  private interface Undo {
    void run() throws Exception;
  }

  private static Injection injection(String target, Undo undo) {
    return new Injection() {
      @Override
      public String target() {
        return target;
      }

      @Override
      public void close() throws Exception {
        undo.run();
      }
    };
  }

  private static Network network(Clients clients, int client) {
    return clients
        .network(client)
        .orElseThrow(() -> new IllegalArgumentException(clients.name(client) + " has no network"));
  }

  private static Injection disturb(
      Clients clients, int client, Function<FaultProxy, NetworkFault> fault) {
    return injection(clients.name(client), network(clients, client).everywhere(fault), "");
  }

  private static Injection move(Clients clients, int client, int choice) {
    List<FaultProxy> ways = network(clients, client).proxies();
    int server = choice % ways.size();
    int moved = 1 + choice / ways.size() % (ways.size() - 1);
    List<NetworkFault> faults = new ArrayList<>();
    for (int i = 1; i <= moved; i++) {
      FaultProxy way = ways.get((server + i) % ways.size());
      faults.add(way.leadTo(ways.get(server).upstream()));
    }
    return injection(
        clients.name(client),
        new Disturbance(faults),
        "server " + (server + 1) + " has " + (moved + 1) + " addresses");
  }

  private static Injection injection(String target, Disturbance disturbance, String note) {
    return new Injection() {
      @Override
      public String target() {
        return target;
      }

      @Override
      public String note() {
        return note;
      }

      @Override
      public boolean tookEffect() {
        return disturbance.hits() > 0;
      }

      @Override
      public void close() {
        disturbance.close();
      }
    };
  }

  private static Injection reset(Clients clients, int client) {
    int connections = network(clients, client).reset();
    return new Injection() {
      @Override
      public String target() {
        return clients.name(client);
      }

      @Override
      public boolean tookEffect() {
        return connections > 0;
      }

      @Override
      public String note() {
        return connections + (connections == 1 ? " connection" : " connections");
      }

      @Override
      public void close() {}
    };
  }
}
