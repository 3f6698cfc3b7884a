package dev.interlock.storm;

import dev.interlock.storm.ClientWorkers.Phase;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** All clients of one storm. */
final class Clients implements AutoCloseable {
  private final List<Client> clients = new ArrayList<>();

  void add(Client client) {
    clients.add(client);
  }

  List<Client> all() {
    return List.copyOf(clients);
  }

  /** Waiters must acquire locks whose leases expired. */
  void outliveAbandonedLeases() throws Exception {
    clients.get(0).perform(Phase.ABANDON);
    clients.get(clients.size() - 1).perform(Phase.AWAIT_ABANDONED);
  }

  /** Has all clients carry out a phase at once, and waits until all have done so. */
  void perform(Phase phase) throws Exception {
    ExecutorService executor = Executors.newCachedThreadPool();
    try {
      List<Future<?>> phases = new ArrayList<>();
      for (Client client : clients) {
        phases.add(
            executor.submit(
                () -> {
                  client.perform(phase);
                  return null;
                }));
      }
      for (Future<?> each : phases) {
        each.get();
      }
    } catch (ExecutionException e) {
      throw e.getCause() instanceof Exception cause ? cause : e;
    } finally {
      executor.shutdownNow();
    }
  }

  @Override
  public void close() {
    clients.forEach(Client::close);
  }
}
