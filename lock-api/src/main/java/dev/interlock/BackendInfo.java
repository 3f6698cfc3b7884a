package dev.interlock;

import java.time.Duration;
import java.util.Set;

/**
 * A backend's name, abilities and promises.
 *
 * @param name the backend's name, such as {@code redis}; for people and reports
 * @param summary one line about how it locks
 * @param capabilities what it can do beyond the contract's minimum
 * @param granularity by how much, beyond the request time-out, the store may be late: the
 *     coarseness of its expiry
 * @param minTtl the shortest TTL that it keeps exactly; a shorter one is served as this on the
 *     store, see {@link Lease#effectiveTtl()}
 * @param failureModel what survives which fault
 */
public record BackendInfo(
    String name,
    String summary,
    Set<Capability> capabilities,
    Duration granularity,
    Duration minTtl,
    FailureModel failureModel) {

  /**
   * Copies the set.
   *
   * @param name see the record
   * @param summary see the record
   * @param capabilities see the record
   * @param granularity see the record
   * @param minTtl see the record
   * @param failureModel see the record
   */
  public BackendInfo {
    capabilities = Set.copyOf(capabilities);
  }

  /**
   * Returns whether the backend has the capability.
   *
   * @param capability the capability
   * @return whether it has it
   */
  public boolean has(Capability capability) {
    return capabilities.contains(capability);
  }
}
