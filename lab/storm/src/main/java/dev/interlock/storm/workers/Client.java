package dev.interlock.storm.workers;

import dev.interlock.storm.workers.ClientWorkers.Phase;
import dev.interlock.tck.fault.Network;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** A client of the storm, in the storm's process or in another. */
public interface Client extends AutoCloseable {
  /** {@return the name in faults and leases, such as {@code client-2}} */
  String name();

  /** {@return the network between the client and the store; empty if it can have no faults} */
  Optional<Network> network();

  /** Carries out one phase of the work. */
  void perform(Phase phase) throws IOException, InterruptedException;

  /** {@return the journals of all incarnations, the last one last} */
  List<Path> journals();

  /** {@return whether the client runs in a separate process, which can be stopped and killed} */
  default boolean isProcess() {
    return false;
  }

  /**
   * {@return the client's separate process}
   *
   * @throws IllegalArgumentException if the client runs in the storm's process
   */
  default ClientProcess process() {
    throw new IllegalArgumentException(name() + " has no separate process");
  }

  /** {@return the times in which the process was stopped} */
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

  /** Ends the client in any state. */
  @Override
  void close();
}
