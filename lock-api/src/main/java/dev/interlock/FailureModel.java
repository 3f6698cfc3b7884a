package dev.interlock;

import static java.util.Objects.requireNonNull;

import java.util.Map;

/**
 * What a backend promises under each {@link Fault}. The documentation, the comparison and the fault
 * tests read it; a backend that breaks its promise fails the compatibility kit.
 *
 * <p>Exclusion means that at no moment two leases of a name are valid. Token order means that every
 * later grant of a name has a higher fencing token, so that a store that checks tokens is safe even
 * where exclusion fails.
 */
public interface FailureModel {

  /** What survives a fault. More may be added. */
  enum Guarantee {
    /** Exclusion and token order both hold. */
    EXCLUSION_AND_TOKENS,
    /** Two leases may be valid at once, but the later one has the higher token. */
    TOKENS_ONLY,
    /** Exclusion holds, but tokens may repeat or decrease, or there are none. */
    EXCLUSION_ONLY,
    /** Neither is promised. */
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
   * {@return what survives the given fault}
   *
   * @param fault the fault
   */
  default Guarantee under(Fault fault) {
    return requireNonNull(table().get(fault), "fault");
  }

  /**
   * {@return whether exclusion is promised under the given fault}
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
   * {@return whether token order is promised under the given fault}
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
