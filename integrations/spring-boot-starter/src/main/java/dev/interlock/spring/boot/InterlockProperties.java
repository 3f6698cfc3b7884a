package dev.interlock.spring.boot;

import dev.interlock.LockOptions;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.PropertyMapper;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties {@code interlock.*}. For properties that are not set, the defaults of {@link
 * LockOptions} apply. Parameters of the URI take precedence over properties.
 *
 * @param uri URI of the store, such as redis://localhost:6379. Without it there is no client.
 * @param ttl How long the store keeps a lock without a renewal. Default 30s.
 * @param autoRenew Whether leases are renewed in the background. Default true.
 * @param minHold Minimum time for which a lock stays taken, even if it is released earlier.
 * @param maxHold Maximum time for which a lease may be held, including renewals.
 * @param requestTimeout How long a single request to the store may take. Default 2s.
 * @param waitTimeout How long acquire() waits while another holds the lock before it throws.
 *     Default: no limit.
 * @param outageTimeout How long the store may be unavailable before acquire() throws. Default: the
 *     TTL.
 * @param openTimeout How long the start of the application waits for a store that is unavailable.
 *     Default: a single attempt.
 * @param pollInterval How long a waiter relies on notifications before it asks the store again.
 *     Default 1s.
 * @param label Label that is shown for this application's locks. Default: host, process and thread.
 * @param shutdownTimeout How long the shutdown of the application waits for locks that are still
 *     held.
 */
@ConfigurationProperties("interlock")
public record InterlockProperties(
    @Nullable String uri,
    @Nullable Duration ttl,
    @Nullable Boolean autoRenew,
    @Nullable Duration minHold,
    @Nullable Duration maxHold,
    @Nullable Duration requestTimeout,
    @Nullable Duration waitTimeout,
    @Nullable Duration outageTimeout,
    @Nullable Duration openTimeout,
    @Nullable Duration pollInterval,
    @Nullable String label,
    @DefaultValue("10s") Duration shutdownTimeout) {

  /**
   * {@return a builder with the properties that are set, and defaults for the others}
   *
   * @throws IllegalArgumentException if a property is out of range
   */
  LockOptions.Builder options() {
    LockOptions.Builder builder =
        LockOptions.builder()
            .minHold(minHold)
            .maxHold(maxHold)
            .waitTimeout(waitTimeout)
            .outageTimeout(outageTimeout)
            .openTimeout(openTimeout)
            .label(label);
    PropertyMapper properties = PropertyMapper.get(); // skips null
    properties.from(ttl).to(builder::ttl);
    properties.from(autoRenew).to(builder::autoRenew);
    properties.from(requestTimeout).to(builder::requestTimeout);
    properties.from(pollInterval).to(builder::pollInterval);
    return builder;
  }

  /** Returns the name of the class: a URI may contain a password. */
  @Override
  public String toString() {
    return "InterlockProperties";
  }
}
