package dev.interlock.tck.specimen;

import static java.util.Objects.requireNonNull;

import dev.interlock.tck.Harness;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A wrong lock, and the exact set of rules that refuse it.
 *
 * <pre>{@code
 * Specimen.mutant("expiry ignored")
 *     .fault("The store never ends a lease by itself.")
 *     .harness(ExpiryIgnored::new)
 *     .refusedBy("LEASE-01", "the store did not free the lock after the TTL")
 *     .refusedBy("WAIT-05", "did not get the lock after the TTL")
 *     .build();
 * }</pre>
 *
 * <p>The rules that {@link Builder#refusedBy} names are run, and must fail. With the system
 * property {@code interlock.specimens.whole} all others are run as well, unless {@link
 * Builder#onlyRules} or {@link Builder#exceptRules} leaves them out, and must not fail.
 */
public final class Specimen {
  private final String name;
  private final String source;
  private final String fault;
  private final Supplier<? extends Harness> harness;
  private final List<String> rules;
  private final List<String> except;
  private final String reasonForRules;
  private final Map<String, Refusal> refusals;

  /**
   * That a rule refuses a specimen.
   *
   * @param message what the message of the failure must contain
   * @param sinceJava the oldest Java on which the rule can be tested
   */
  record Refusal(String message, int sinceJava) {}

  private Specimen(Builder builder) {
    this.name = builder.name;
    this.source = builder.source;
    this.fault = requireNonNull(builder.fault, "what is wrong with it");
    this.harness = requireNonNull(builder.harness, "harness");
    this.rules = builder.rules;
    this.except = builder.except;
    this.reasonForRules = builder.reasonForRules;
    this.refusals = new LinkedHashMap<>(builder.refusals);
    if (refusals.isEmpty()) {
      throw new IllegalArgumentException(name + " is refused by nothing");
    }
  }

  /**
   * Describes a lock that has been published, or is in use.
   *
   * @param name what it is called, in a few words
   * @param source where it is from
   * @return its description, to be completed
   */
  public static Builder fromLiterature(String name, String source) {
    return new Builder(name, source);
  }

  /**
   * Describes a right lock with one fault put into it.
   *
   * @param name what it is called, in a few words
   * @return its description, to be completed
   */
  public static Builder mutant(String name) {
    return new Builder(name, "mutant");
  }

  /**
   * Returns what it is called.
   *
   * @return a few words
   */
  public String name() {
    return name;
  }

  /**
   * Returns where it is from.
   *
   * @return a publication, or {@code mutant}
   */
  public String source() {
    return source;
  }

  /**
   * Returns what is wrong with it.
   *
   * @return one or two sentences
   */
  public String fault() {
    return fault;
  }

  /**
   * Returns the rules that must refuse it.
   *
   * @return their identifiers
   */
  public List<String> refusedBy() {
    return List.copyOf(refusals.keySet());
  }

  /**
   * Makes the wrong lock.
   *
   * @return a harness of its own for each call
   */
  public Harness harness() {
    return harness.get();
  }

  List<String> rules() {
    return rules;
  }

  List<String> except() {
    return except;
  }

  String reasonForRules() {
    return reasonForRules;
  }

  Map<String, Refusal> refusals() {
    return refusals;
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
     * Says what is wrong with it.
     *
     * @param sentences one or two sentences
     * @return this
     */
    public Builder fault(String sentences) {
      this.fault = sentences;
      return this;
    }

    /**
     * Says how the kit gets at it.
     *
     * @param supplier makes a harness for one run
     * @return this
     */
    public Builder harness(Supplier<? extends Harness> supplier) {
      this.harness = supplier;
      return this;
    }

    /**
     * Runs only some rules, because the others would show nothing, or something else each time.
     *
     * @param reason why the others are left out
     * @param patterns identifiers of rules, with {@code *} for any characters
     * @return this
     */
    public Builder onlyRules(String reason, String... patterns) {
      this.reasonForRules = reason;
      this.rules = List.of(patterns);
      return this;
    }

    /**
     * Leaves some rules out, because they would show something else each time.
     *
     * @param reason why they are left out
     * @param patterns identifiers of rules, with {@code *} for any characters; tests that also test
     *     other rules are left out, too
     * @return this
     */
    public Builder exceptRules(String reason, String... patterns) {
      this.reasonForRules = reason;
      this.except = List.of(patterns);
      return this;
    }

    /**
     * Says that a rule refuses it.
     *
     * @param rule the rule's identifier
     * @param message what the failure's message must contain
     * @return this
     */
    public Builder refusedBy(String rule, String message) {
      return refusedBySince(17, rule, message);
    }

    /**
     * Says that a rule refuses it, where the rule can be tested.
     *
     * @param java the oldest Java on which the rule can be tested
     * @param rule the rule's identifier
     * @param message what the failure's message must contain
     * @return this
     */
    public Builder refusedBySince(int java, String rule, String message) {
      if (refusals.put(rule, new Refusal(message, java)) != null) {
        throw new IllegalArgumentException(name + " names " + rule + " twice");
      }
      return this;
    }

    /**
     * Completes the description.
     *
     * @return the specimen
     */
    public Specimen build() {
      return new Specimen(this);
    }
  }
}
