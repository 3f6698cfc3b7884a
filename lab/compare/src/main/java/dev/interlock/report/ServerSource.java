package dev.interlock.report;

import dev.interlock.testbed.server.Deployment;
import java.util.List;
import java.util.function.Supplier;

/**
 * Disposable servers for backends that need one. Found by {@link java.util.ServiceLoader}; needs a
 * public constructor without parameters. A third party may bring one in the jar of its backend.
 */
public interface ServerSource {

  /** What can be started. */
  List<Offer> offers();

  /** When servers are started without being asked for by name. */
  enum Size {
    /** In every comparison. */
    USUAL,
    /** Only where larger deployments are wanted, too. */
    CLUSTER
  }

  /**
   * One deployment that can be started.
   *
   * @param name what it is called beside others, such as {@code redis}
   * @param scheme the URI scheme of the backend that it serves
   * @param size whether it is part of every comparison
   * @param durability what the servers write to disk, and when, in a few words
   * @param start starts it
   * @param startForFaults starts it in the form that allows the most kinds of faults, never one
   *     that the user has named
   */
  record Offer(
      String name,
      String scheme,
      Size size,
      String durability,
      Supplier<? extends Deployment> start,
      Supplier<? extends Deployment> startForFaults) {}
}
