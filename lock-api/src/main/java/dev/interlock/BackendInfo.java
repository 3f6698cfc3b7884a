package dev.interlock;

import java.time.Duration;
import java.util.Set;

/**
 * A backend's name, capabilities and guarantees. Immutable. Further accessors may be added in any
 * release.
 */
public interface BackendInfo {

  /** {@return the backend's name, such as {@code redis}, for messages and reports} */
  String name();

  /** {@return one line that says how it locks} */
  String summary();

  /** {@return the capabilities beyond the minimum of the contract; unmodifiable} */
  Set<Capability> capabilities();

  /** {@return how late, beyond the request time-out, the store may expire a lock} */
  Duration granularity();

  /**
   * {@return the shortest TTL that the store supports} It extends a shorter one to this; see {@link
   * Lease#effectiveTtl()}.
   */
  Duration minTtl();

  /** {@return the guarantees under each fault} */
  FailureModel failureModel();

  /**
   * {@return whether the backend has the capability}
   *
   * @param capability the capability
   */
  default boolean has(Capability capability) {
    return capabilities().contains(capability);
  }
}
