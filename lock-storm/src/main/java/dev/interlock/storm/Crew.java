package dev.interlock.storm;

import dev.interlock.tck.fault.Network;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** All clients of one storm. */
final class Crew implements Clients, AutoCloseable {
  private final List<Client> clients = new ArrayList<>();

  void add(Client client) {
    clients.add(client);
  }

  List<Client> all() {
    return List.copyOf(clients);
  }

  @Override
  public int count() {
    return clients.size();
  }

  @Override
  public String name(int client) {
    return clients.get(client).name();
  }

  @Override
  public boolean isProcess(int client) {
    return clients.get(client) instanceof ClientProcess;
  }

  @Override
  public Optional<Network> network(int client) {
    return clients.get(client).network();
  }

  private ClientProcess process(int client) {
    if (clients.get(client) instanceof ClientProcess process) {
      return process;
    }
    throw new IllegalArgumentException(name(client) + " is no process of its own");
  }

  @Override
  public void stop(int client) throws IOException, InterruptedException {
    process(client).stop();
  }

  @Override
  public void resume(int client) throws IOException, InterruptedException {
    process(client).resume();
  }

  @Override
  public void kill(int client) {
    process(client).kill();
  }

  @Override
  public void restart(int client) throws IOException, InterruptedException {
    process(client).restart();
  }

  void awaitWorking(Duration limit) throws Exception {
    together(client -> client.awaitWorking(limit));
  }

  void stopWork() throws Exception {
    together(Client::stopWork);
  }

  void probe() throws Exception {
    together(Client::probe);
  }

  /** Locks that end without anybody's word must be had by those who wait for them. */
  void outliveTheAbandoned() throws Exception {
    clients.get(0).abandon();
    clients.get(clients.size() - 1).awaitAbandoned();
  }

  void closeWork() throws Exception {
    together(Client::closeWork);
  }

  private interface Order {
    void give(Client client) throws Exception;
  }

  /** Gives an order to all clients at once, and waits until all have carried it out. */
  private void together(Order order) throws Exception {
    ExecutorService executor = Executors.newCachedThreadPool();
    try {
      List<Future<?>> orders = new ArrayList<>();
      for (Client client : clients) {
        orders.add(
            executor.submit(
                () -> {
                  order.give(client);
                  return null;
                }));
      }
      for (Future<?> each : orders) {
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
