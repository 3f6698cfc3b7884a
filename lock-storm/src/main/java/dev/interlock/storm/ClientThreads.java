package dev.interlock.storm;

import dev.interlock.LockClient;
import dev.interlock.tck.fault.Network;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A client in the storm's own process. */
final class ClientThreads implements Client {
  private final Assignment assignment;
  private final @Nullable Network network;
  private final ClientWorkers work;

  ClientThreads(Assignment assignment, @Nullable Network network, Supplier<LockClient> opener)
      throws IOException {
    this.assignment = assignment;
    this.network = network;
    this.work = ClientWorkers.start(assignment, opener, false);
  }

  @Override
  public String name() {
    return assignment.client();
  }

  @Override
  public Optional<Network> network() {
    return Optional.ofNullable(network);
  }

  @Override
  public void awaitWorking(Duration limit) throws IOException, InterruptedException {
    work.awaitWorking(limit);
  }

  @Override
  public void stopWork() throws InterruptedException {
    work.stop();
  }

  @Override
  public void probe() throws InterruptedException {
    work.probe();
  }

  @Override
  public void abandon() throws InterruptedException {
    work.abandon();
  }

  @Override
  public void awaitAbandoned() throws InterruptedException {
    work.awaitAbandoned();
  }

  @Override
  public void closeWork() throws IOException {
    work.close();
  }

  @Override
  public List<Path> journals() {
    return List.of(assignment.journal());
  }

  @Override
  public List<Stop> stops() {
    return List.of();
  }

  @Override
  public void close() {
    try {
      work.close();
    } catch (IOException e) {
      // It was closed before.
    }
    if (network != null) {
      network.close();
    }
  }
}
