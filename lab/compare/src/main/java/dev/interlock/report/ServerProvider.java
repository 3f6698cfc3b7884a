package dev.interlock.report;

import dev.interlock.testbed.server.Deployment;
import java.util.List;
import java.util.function.Supplier;

/**
 * Offers disposable servers for backends that need one. Implementations are found by {@link
 * java.util.ServiceLoader} and need a public constructor without parameters. A third party can
 * provide one in the jar of its backend.
 */
public interface ServerProvider {

  /** {@return the deployments that can be started} */
  List<Offer> offers();

  /** Decides when servers start that the user has not named. */
  enum Size {
    /** The servers start in every comparison. */
    USUAL,
    /** The servers start only if the user asks for larger deployments. */
    CLUSTER
  }

  /**
   * A deployment that can be started.
   *
   * @param name its unique name, such as {@code redis}
   * @param scheme the URI scheme of the backend that it serves
   * @param size whether every comparison starts it
   * @param durability what the servers write to disk, and when, in a few words
   * @param start starts the servers
   * @param startForFaults starts the servers in the form that allows the most kinds of faults;
   *     never uses a store that the user has named
   */
  record Offer(
      String name,
      String scheme,
      Size size,
      String durability,
      Supplier<? extends Deployment> start,
      Supplier<? extends Deployment> startForFaults) {}
}
