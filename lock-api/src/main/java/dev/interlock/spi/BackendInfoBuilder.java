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
 * Builds a {@link BackendInfo}. By default a backend has no capabilities, a granularity and a
 * minimum TTL of zero, and guarantees {@link Guarantee#NOTHING} under every fault.
 */
public final class BackendInfoBuilder {

  private final String name;
  private final String summary;
  private Set<Capability> capabilities = Set.of();
  private Duration granularity = Duration.ZERO;
  private Duration minTtl = Duration.ZERO;
  private final EnumMap<Fault, Guarantee> guarantees = new EnumMap<>(Fault.class);

  private BackendInfoBuilder(String name, String summary) {
    this.name = requireNonNull(name, "name");
    this.summary = requireNonNull(summary, "summary");
    for (Fault fault : Fault.values()) {
      guarantees.put(fault, Guarantee.NOTHING);
    }
  }

  /**
   * Returns a builder with the given name and summary.
   *
   * @param name see {@link BackendInfo#name()}
   * @param summary see {@link BackendInfo#summary()}
   * @return a new builder
   */
  public static BackendInfoBuilder of(String name, String summary) {
    return new BackendInfoBuilder(name, summary);
  }

  /**
   * Returns a builder with all values of another backend.
   *
   * @param info the other backend's
   * @return a new builder
   */
  public static BackendInfoBuilder from(BackendInfo info) {
    BackendInfoBuilder copy =
        of(info.name(), info.summary())
            .capabilities(info.capabilities())
            .granularity(info.granularity())
            .minTtl(info.minTtl());
    copy.guarantees.putAll(info.failureModel().table());
    return copy;
  }

  /**
   * Sets {@link BackendInfo#capabilities()}.
   *
   * @param capabilities all capabilities
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
   * @param capabilities all capabilities
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
   * Sets the guarantee under the given faults.
   *
   * @param guarantee the guarantee
   * @param first a fault
   * @param more more faults
   * @return this builder
   */
  @CanIgnoreReturnValue
  public BackendInfoBuilder guarantee(Guarantee guarantee, Fault first, Fault... more) {
    for (Fault fault : EnumSet.of(first, more)) {
      guarantees.put(fault, requireNonNull(guarantee, "guarantee"));
    }
    return this;
  }

  /** {@return the description} */
  public BackendInfo build() {
    return new Info(
        name,
        summary,
        capabilities,
        granularity,
        minTtl,
        new Guarantees(Collections.unmodifiableMap(new EnumMap<>(guarantees))));
  }

  private record Info(
      String name,
      String summary,
      Set<Capability> capabilities,
      Duration granularity,
      Duration minTtl,
      FailureModel failureModel)
      implements BackendInfo {}

  private record Guarantees(Map<Fault, Guarantee> table) implements FailureModel {
    @Override
    public String toString() {
      return table.toString();
    }
  }
}
