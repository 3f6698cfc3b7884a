package dev.interlock.storm;

import dev.interlock.storm.ClientWorkers.Phase;
import dev.interlock.tck.fault.Network;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** One of the storm's clients, wherever it runs. */
interface Client extends AutoCloseable {
  /** Its name in faults and leases, such as {@code client-2}. */
  String name();

  /** The network between it and the store; empty if no faults can be put on it. */
  Optional<Network> network();

  /** Carries out one phase of the work. */
  void perform(Phase phase) throws IOException, InterruptedException;

  /** The journals of its incarnations, the last one last. */
  List<Path> journals();

  /** Whether it is a process of its own, which can be stopped and killed. */
  default boolean isProcess() {
    return false;
  }

  /**
   * Its process.
   *
   * @throws IllegalArgumentException if it has no process of its own
   */
  default ClientProcess process() {
    throw new IllegalArgumentException(name() + " is no process of its own");
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

  /** Ends it in any case. */
  @Override
  void close();
}
