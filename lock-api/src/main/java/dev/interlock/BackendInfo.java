package dev.interlock;

import java.time.Duration;
import java.util.Set;

/**
 * A backend's name, abilities and promises. Immutable. Further accessors may be added in any
 * release.
 */
public interface BackendInfo {

  /** {@return the backend's name, such as {@code redis}; for people and reports} */
  String name();

  /** {@return one line about how it locks} */
  String summary();

  /** {@return what it can do beyond the contract's minimum; unmodifiable} */
  Set<Capability> capabilities();

  /** {@return how late, beyond the request time-out, the store may expire a lock} */
  Duration granularity();

  /**
   * {@return the shortest TTL that the store keeps exactly} It extends a shorter one to this; see
   * {@link Lease#effectiveTtl()}.
   */
  Duration minTtl();

  /** {@return what survives which fault} */
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
