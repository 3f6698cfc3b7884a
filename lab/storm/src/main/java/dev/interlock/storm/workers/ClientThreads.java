package dev.interlock.storm.workers;

import dev.interlock.LockClient;
import dev.interlock.storm.workers.ClientWorkers.Phase;
import dev.interlock.tck.fault.Network;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A client in the storm's own process. */
public final class ClientThreads implements Client {
  private final Assignment assignment;
  private final @Nullable Network network;
  private final ClientWorkers workers;

  public ClientThreads(
      Assignment assignment, @Nullable Network network, Supplier<LockClient> opener)
      throws IOException {
    this.assignment = assignment;
    this.network = network;
    this.workers = ClientWorkers.start(assignment, opener, false);
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
  public void perform(Phase phase) throws IOException, InterruptedException {
    workers.perform(phase);
  }

  @Override
  public List<Path> journals() {
    return List.of(assignment.journal());
  }

  @Override
  public void close() {
    try {
      workers.close();
    } catch (IOException e) {
      // The workers were closed before.
    }
    if (network != null) {
      network.close();
    }
  }
}
