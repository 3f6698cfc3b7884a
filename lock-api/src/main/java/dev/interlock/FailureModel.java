package dev.interlock;

import static java.util.Objects.requireNonNull;

import java.util.Collections;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;

/**
 * What a backend promises under each {@link Fault}. The documentation, the comparison and the fault
 * tests read it; a backend that breaks its promise fails the compatibility kit.
 *
 * <p>Exclusion means that at no moment two leases of a name are valid. Token order means that every
 * later grant of a name has a higher fencing token, so that a store that checks tokens is safe even
 * where exclusion fails.
 */
public final class FailureModel {

  /** What survives a fault. */
  public enum Survives {
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

  private final Map<Fault, Survives> survives;

  private FailureModel(Map<Fault, Survives> survives) {
    this.survives = Collections.unmodifiableMap(survives);
  }

  /**
   * {@return what survives the given fault}
   *
   * @param fault the fault
   */
  public Survives under(Fault fault) {
    return requireNonNull(survives.get(fault), "fault");
  }

  /**
   * {@return the whole table, in the order of {@link Fault}: an unmodifiable map with an entry for
   * every fault}
   */
  public Map<Fault, Survives> table() {
    return survives;
  }

  /**
   * {@return whether exclusion is promised under the given fault}
   *
   * @param fault the fault
   */
  public boolean keepsExclusion(Fault fault) {
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
  public boolean keepsTokenOrder(Fault fault) {
    return switch (under(fault)) {
      case EXCLUSION_AND_TOKENS, TOKENS_ONLY, NOT_APPLICABLE -> true;
      case EXCLUSION_ONLY, NOTHING -> false;
    };
  }

  @Override
  public String toString() {
    return survives.toString();
  }

  /**
   * {@return a builder of a model that promises {@link Survives#NOTHING} under every fault that is
   * not set}
   */
  public static Builder builder() {
    return new Builder();
  }

  /** Builds a {@link FailureModel}. */
  public static final class Builder {
    private final EnumMap<Fault, Survives> survives = new EnumMap<>(Fault.class);

    private Builder() {
      for (Fault fault : Fault.values()) {
        survives.put(fault, Survives.NOTHING);
      }
    }

    /**
     * Sets what survives the given faults.
     *
     * @param what what survives
     * @param first a fault
     * @param more more faults
     * @return this builder
     */
    public Builder under(Survives what, Fault first, Fault... more) {
      Set<Fault> faults = EnumSet.of(first, more);
      faults.forEach(fault -> survives.put(fault, what));
      return this;
    }

    /** {@return the model} */
    public FailureModel build() {
      return new FailureModel(new EnumMap<>(survives));
    }
  }
}
