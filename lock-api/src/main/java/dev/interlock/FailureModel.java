package dev.interlock;

import static java.util.Objects.requireNonNull;

import java.util.Map;

/**
 * The guarantees of a backend under each {@link Fault}. The documentation, the comparison and the
 * fault tests use it. A backend that breaks a guarantee fails the compatibility kit.
 *
 * <p>Exclusion means that two leases of a name are never valid at the same time. Token order means
 * that every later grant of a name has a higher fencing token. With token order, a store that
 * checks tokens is safe even if exclusion fails.
 */
public interface FailureModel {

  /** The guarantees that hold under a fault. More may be added. */
  enum Guarantee {
    /** Exclusion and token order both hold. */
    EXCLUSION_AND_TOKENS,
    /** Two leases may be valid at once, but the later one has the higher token. */
    TOKENS_ONLY,
    /** Exclusion holds, but tokens may repeat or decrease, or there are none. */
    EXCLUSION_ONLY,
    /** Neither is guaranteed. */
    NOTHING,
    /** The fault cannot happen to this backend. */
    NOT_APPLICABLE
  }

  /**
   * {@return the whole table, in the order of {@link Fault}: an unmodifiable map with an entry for
   * every fault}
   */
  Map<Fault, Guarantee> table();

  /**
   * {@return the guarantees that hold under the given fault}
   *
   * @param fault the fault
   */
  default Guarantee under(Fault fault) {
    return requireNonNull(table().get(fault), "fault");
  }

  /**
   * {@return whether exclusion is guaranteed under the given fault}
   *
   * @param fault the fault
   */
  default boolean keepsExclusion(Fault fault) {
    return switch (under(fault)) {
      case EXCLUSION_AND_TOKENS, EXCLUSION_ONLY, NOT_APPLICABLE -> true;
      case TOKENS_ONLY, NOTHING -> false;
    };
  }

  /**
   * {@return whether token order is guaranteed under the given fault}
   *
   * @param fault the fault
   */
  default boolean keepsTokenOrder(Fault fault) {
    return switch (under(fault)) {
      case EXCLUSION_AND_TOKENS, TOKENS_ONLY, NOT_APPLICABLE -> true;
      case EXCLUSION_ONLY, NOTHING -> false;
    };
  }
}
