package dev.interlock.storm.workers;

import dev.interlock.storm.workers.ClientWorkers.Phase;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** All clients of one storm. */
public final class Clients implements AutoCloseable {
  private final List<Client> clients = new ArrayList<>();

  public void add(Client client) {
    clients.add(client);
  }

  public List<Client> all() {
    return List.copyOf(clients);
  }

  /**
   * Lets the first client abandon a lease of every lock. The last client must acquire the locks
   * when those leases expire.
   */
  public void acquireAbandonedLocks() throws Exception {
    clients.get(0).perform(Phase.ABANDON);
    clients.get(clients.size() - 1).perform(Phase.AWAIT_ABANDONED);
  }

  /** Carries out a phase on all clients at once, and waits until all are done. */
  public void perform(Phase phase) throws Exception {
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
