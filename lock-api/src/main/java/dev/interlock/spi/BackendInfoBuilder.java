package dev.interlock.spi;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.FailureModel;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;

/**
 * Builds a {@link BackendInfo}. Unless set, a backend has no capabilities, a granularity and a
 * minimum TTL of zero, and promises {@link Guarantee#NOTHING} under every fault.
 */
public final class BackendInfoBuilder {

  private final String name;
  private final String summary;
  private Set<Capability> capabilities = Set.of();
  private Duration granularity = Duration.ZERO;
  private Duration minTtl = Duration.ZERO;
  private final EnumMap<Fault, Guarantee> survives = new EnumMap<>(Fault.class);

  private BackendInfoBuilder(String name, String summary) {
    this.name = requireNonNull(name, "name");
    this.summary = requireNonNull(summary, "summary");
    for (Fault fault : Fault.values()) {
      survives.put(fault, Guarantee.NOTHING);
    }
  }

  /**
   * Begins a description.
   *
   * @param name see {@link BackendInfo#name()}
   * @param summary see {@link BackendInfo#summary()}
   * @return a new builder
   */
  public static BackendInfoBuilder of(String name, String summary) {
    return new BackendInfoBuilder(name, summary);
  }

  /**
   * Begins a description that is that of another backend.
   *
   * @param info the other
   * @return a new builder
   */
  public static BackendInfoBuilder from(BackendInfo info) {
    BackendInfoBuilder copy =
        of(info.name(), info.summary())
            .capabilities(info.capabilities())
            .granularity(info.granularity())
            .minTtl(info.minTtl());
    copy.survives.putAll(info.failureModel().table());
    return copy;
  }

  /**
   * Sets {@link BackendInfo#capabilities()}.
   *
   * @param capabilities all of them
   * @return this builder
   */
  @CanIgnoreReturnValue
  public BackendInfoBuilder capabilities(Capability... capabilities) {
    this.capabilities = Set.of(capabilities);
    return this;
  }

  /**
   * Sets {@link BackendInfo#capabilities()}.
   *
   * @param capabilities all of them
   * @return this builder
   */
  @CanIgnoreReturnValue
  public BackendInfoBuilder capabilities(Collection<Capability> capabilities) {
    this.capabilities = Set.copyOf(capabilities);
    return this;
  }

  /**
   * Sets {@link BackendInfo#granularity()}.
   *
   * @param granularity zero or more
   * @return this builder
   */
  @CanIgnoreReturnValue
  public BackendInfoBuilder granularity(Duration granularity) {
    this.granularity = requireNonNull(granularity, "granularity");
    return this;
  }

  /**
   * Sets {@link BackendInfo#minTtl()}.
   *
   * @param minTtl zero or more
   * @return this builder
   */
  @CanIgnoreReturnValue
  public BackendInfoBuilder minTtl(Duration minTtl) {
    this.minTtl = requireNonNull(minTtl, "minTtl");
    return this;
  }

  /**
   * Promises what survives the given faults.
   *
   * @param what what survives
   * @param first a fault
   * @param more more faults
   * @return this builder
   */
  @CanIgnoreReturnValue
  public BackendInfoBuilder promise(Guarantee what, Fault first, Fault... more) {
    for (Fault fault : EnumSet.of(first, more)) {
      survives.put(fault, requireNonNull(what, "what"));
    }
    return this;
  }

  /** {@return what has been set} */
  public BackendInfo build() {
    return new Info(
        name,
        summary,
        capabilities,
        granularity,
        minTtl,
        new Promises(Collections.unmodifiableMap(new EnumMap<>(survives))));
  }

  private record Info(
      String name,
      String summary,
      Set<Capability> capabilities,
      Duration granularity,
      Duration minTtl,
      FailureModel failureModel)
      implements BackendInfo {}

  private record Promises(Map<Fault, Guarantee> table) implements FailureModel {
    @Override
    public String toString() {
      return table.toString();
    }
  }
}
