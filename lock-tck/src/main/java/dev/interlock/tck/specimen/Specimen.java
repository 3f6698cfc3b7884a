package dev.interlock.tck.specimen;

import static java.util.Objects.requireNonNull;

import dev.interlock.tck.Harness;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A lock with a known fault, and the exact set of rules that refuse it.
 *
 * <pre>{@code
 * Specimen.mutant("expiry ignored")
 *     .fault("The store never expires a lease.")
 *     .harness(ExpiryIgnored::new)
 *     .refusedBy("LEASE-01", "the store did not free the lock after the TTL")
 *     .refusedBy("WAIT-05", "did not get the lock after the TTL")
 *     .build();
 * }</pre>
 *
 * <p>The rules that {@link Builder#refusedBy} names are run, and must fail. With the system
 * property {@code interlock.specimens.whole} the others are run as well, and must not fail. {@link
 * Builder#onlyRules} and {@link Builder#exceptRules} leave rules out.
 *
 * @param name its name
 * @param source a publication, or {@code mutant}
 * @param fault its fault
 * @param maker creates a harness for one run
 * @param rules the rules that are run, as patterns
 * @param except rules that are not run, as patterns
 * @param reasonForRules the reason why some rules are not run
 * @param refusals the rules that must refuse it, in the order of their description
 */
public record Specimen(
    String name,
    String source,
    String fault,
    Supplier<? extends Harness> maker,
    List<String> rules,
    List<String> except,
    String reasonForRules,
    Map<String, Refusal> refusals) {

  /**
   * The refusal of a specimen by a rule.
   *
   * @param message a part of the failure's message
   * @param sinceJava the oldest Java on which the rule can be tested
   */
  public record Refusal(String message, int sinceJava) {}

  /**
   * Starts the description of a lock that has been published, or is in use.
   *
   * @param name its name, in a few words
   * @param source the publication
   * @return a builder
   */
  public static Builder fromLiterature(String name, String source) {
    return new Builder(name, source);
  }

  /**
   * Starts the description of a correct lock with one fault in it.
   *
   * @param name its name, in a few words
   * @return a builder
   */
  public static Builder mutant(String name) {
    return new Builder(name, "mutant");
  }

  /** {@return the identifiers of the rules that must refuse it} */
  public List<String> refusedBy() {
    return List.copyOf(refusals.keySet());
  }

  /**
   * Creates the lock.
   *
   * @return a new harness for each call
   */
  public Harness harness() {
    return maker.get();
  }

  @Override
  public String toString() {
    return name;
  }

  /** Describes a specimen. */
  public static final class Builder {
    private final String name;
    private final String source;
    private @Nullable String fault;
    private @Nullable Supplier<? extends Harness> harness;
    private List<String> rules = List.of("*");
    private List<String> except = List.of();
    private String reasonForRules = "";
    private final Map<String, Refusal> refusals = new LinkedHashMap<>();

    private Builder(String name, String source) {
      this.name = name;
      this.source = source;
    }

    /**
     * Describes the fault.
     *
     * @param sentences one or two sentences
     * @return this
     */
    public Builder fault(String sentences) {
      this.fault = sentences;
      return this;
    }

    /**
     * Sets the harness.
     *
     * @param supplier creates a harness for one run
     * @return this
     */
    public Builder harness(Supplier<? extends Harness> supplier) {
      this.harness = supplier;
      return this;
    }

    /**
     * Runs only some rules, because the others would not detect the fault, or not every time.
     *
     * @param reason the reason for leaving the others out
     * @param patterns identifiers of rules, with {@code *} for any characters
     * @return this
     */
    public Builder onlyRules(String reason, String... patterns) {
      this.reasonForRules = reason;
      this.rules = List.of(patterns);
      return this;
    }

    /**
     * Leaves some rules out, because their results would vary.
     *
     * @param reason the reason for leaving them out
     * @param patterns identifiers of rules, with {@code *} for any characters; their tests are left
     *     out even if they test other rules, too
     * @return this
     */
    public Builder exceptRules(String reason, String... patterns) {
      this.reasonForRules = reason;
      this.except = List.of(patterns);
      return this;
    }

    /**
     * Names a rule that must refuse it.
     *
     * @param rule the rule's identifier
     * @param message a part of the failure's message
     * @return this
     */
    public Builder refusedBy(String rule, String message) {
      return refusedBySince(17, rule, message);
    }

    /**
     * Names a rule that must refuse it on Java versions that can test the rule.
     *
     * @param java the oldest Java on which the rule can be tested
     * @param rule the rule's identifier
     * @param message a part of the failure's message
     * @return this
     */
    public Builder refusedBySince(int java, String rule, String message) {
      if (refusals.put(rule, new Refusal(message, java)) != null) {
        throw new IllegalArgumentException(
            "specimen " + name + " names the rule " + rule + " twice");
      }
      return this;
    }

    /**
     * Completes the description.
     *
     * @return the specimen
     */
    public Specimen build() {
      if (refusals.isEmpty()) {
        throw new IllegalArgumentException("specimen " + name + " names no rule that refuses it");
      }
      return new Specimen(
          name,
          source,
          requireNonNull(fault, "fault"),
          requireNonNull(harness, "harness"),
          rules,
          except,
          reasonForRules,
          new LinkedHashMap<>(refusals));
    }
  }
}
