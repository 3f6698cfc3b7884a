package dev.interlock.storm;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The result of a storm over one backend.
 *
 * @param name what the backend is called in the report
 * @param backend the backend's own name
 * @param endpoint where the store was, without passwords
 * @param servers how the servers were started, with their version; empty if they were there
 * @param plan the schedule, with its seed
 * @param started when
 * @param origin {@link System#nanoTime()} at the start, to which all times here relate
 * @param lasted for how long faults were made
 * @param clients names of the clients
 * @param names names of the locks
 * @param faults the faults that were injected, in order of time
 * @param leases all leases, in order of their grants
 * @param operations what the clients did
 * @param writes how many writes under the locks were accepted and lost
 * @param overlapsOutside pairs of leases that were valid at once because of a fault outside the
 *     failure model
 * @param overlapsExposed of these, those that the tokens tell apart
 * @param slowest the slowest recoveries, the slowest first
 * @param resources threads and connections of the clients that lived to the end
 * @param findings violations of the contract; empty if there are none
 * @param counterExample the shortest counter-example to exclusion or the order of tokens
 */
public record StormResult(
    String name,
    String backend,
    String endpoint,
    String servers,
    Plan plan,
    Instant started,
    long origin,
    Duration lasted,
    List<String> clients,
    List<String> names,
    List<InjectedFault> faults,
    List<HeldLease> leases,
    OperationCounts operations,
    WriteCounts writes,
    long overlapsOutside,
    long overlapsExposed,
    List<Recovery> slowest,
    List<ResourceUse> resources,
    List<Finding> findings,
    @Nullable String counterExample) {

  /** {@return the servers, or the endpoint of a store that was there} */
  String where() {
    return servers.isEmpty() ? endpoint : servers;
  }

  /** {@return a time, counted from the beginning of the storm} */
  Duration at(long nanos) {
    return Duration.ofNanos(nanos - origin);
  }

  /** {@return whether no rule was broken} */
  public boolean passed() {
    return findings.isEmpty();
  }
}
