package dev.interlock.storm.workers;

import dev.interlock.storm.workers.ClientWorkers.Phase;
import dev.interlock.tck.fault.Network;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** A client of the storm, in the storm's process or in another. */
public interface Client extends AutoCloseable {
  /** Its name in faults and leases, such as {@code client-2}. */
  String name();

  /** The network between it and the store; empty if no faults can be put on it. */
  Optional<Network> network();

  /** Carries out one phase of the work. */
  void perform(Phase phase) throws IOException, InterruptedException;

  /** The journals of its incarnations, the last one last. */
  List<Path> journals();

  /** Whether it runs in a separate process, which can be stopped and killed. */
  default boolean isProcess() {
    return false;
  }

  /**
   * Its process.
   *
   * @throws IllegalArgumentException if it runs in the storm's process
   */
  default ClientProcess process() {
    throw new IllegalArgumentException(name() + " has no separate process");
  }

  /** The times in which its process was stopped. */
  default List<Stop> stops() {
    return List.of();
  }

  /**
   * A time in which the process was stopped, by {@link System#nanoTime()}.
   *
   * @param from before it was stopped
   * @param until after it was resumed
   */
  record Stop(long from, long until) {}

  /** Ends the client, whatever its state. */
  @Override
  void close();
}
