package dev.interlock.storm;

import dev.interlock.tck.Harness;
import dev.interlock.testbed.server.Deployment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The settings of a storm.
 *
 * @param name the backend's name in the report
 * @param store the store of the locks
 * @param harness opens clients; null to open them by the URI
 * @param duration how long faults are injected
 * @param seed determines the plan and the clients' random choices
 * @param beyond whether faults outside the failure model are injected as well
 * @param processes how many clients have a process of their own
 * @param threads the number of threads of each client
 * @param folder where the journals are written during the storm
 * @param stopped ends the storm early once it is true, with a verdict on what has happened
 * @param progress receives a line for each phase
 */
public record StormSettings(
    String name,
    Store store,
    @Nullable Harness harness,
    Duration duration,
    long seed,
    boolean beyond,
    int processes,
    int threads,
    Path folder,
    BooleanSupplier stopped,
    Consumer<String> progress) {

  /** The store of the locks. */
  public sealed interface Store {}

  /**
   * A running store, whose servers no fault may hit.
   *
   * @param uri the URI of the store
   */
  public record RunningStore(String uri) implements Store {}

  /**
   * Servers that the storm starts, and into which it injects faults.
   *
   * @param start starts the servers
   */
  public record DisposableStore(Supplier<? extends Deployment> start) implements Store {}
}
