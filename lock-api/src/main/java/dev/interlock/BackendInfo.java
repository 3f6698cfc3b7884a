package dev.interlock;

import java.time.Duration;
import java.util.Set;

/**
 * A backend's name, abilities and promises.
 *
 * @param name the backend's name, such as {@code redis}; for people and reports
 * @param summary one line about how it locks
 * @param capabilities what it can do beyond the contract's minimum
 * @param granularity how late, beyond the request time-out, the store may expire a lock
 * @param minTtl the shortest TTL that the store keeps exactly; it extends a shorter one to this,
 *     see {@link Lease#effectiveTtl()}
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
   * {@return whether the backend has the capability}
   *
   * @param capability the capability
   */
  public boolean has(Capability capability) {
    return capabilities.contains(capability);
  }
}
