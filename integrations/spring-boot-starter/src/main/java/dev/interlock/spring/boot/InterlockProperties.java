package dev.interlock.spring.boot;

import dev.interlock.LockOptions;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.PropertyMapper;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties {@code interlock.*}. Those that are not set leave the defaults of {@link
 * LockOptions}. Parameters of the URI replace them.
 *
 * @param uri Where the store is, such as redis://localhost:6379. Without it there is no client.
 * @param ttl How long the store keeps a lock without a renewal. Default 30s.
 * @param autoRenew Whether leases are renewed in the background. Default true.
 * @param minHold How long a lock stays taken at least, even if it is released earlier.
 * @param maxHold How long a lease may be held at most, all renewals included.
 * @param requestTimeout How long a single request to the store may take. Default 2s.
 * @param waitTimeout How long acquire() waits while another holds the lock before it throws. By
 *     default without limit.
 * @param outageTimeout How long the store may be unavailable before acquire() throws. Default: the
 *     TTL.
 * @param openTimeout How long the start of the application waits for a store that is unavailable.
 *     By default there is a single attempt.
 * @param pollInterval How long a waiter relies on notifications before it asks the store again.
 *     Default 1s.
 * @param label The label that is shown for this application's locks. Default: host, process and
 *     thread.
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
   * {@return a builder that has these options, and the defaults of those that are not set}
   *
   * @throws IllegalArgumentException if one is out of range
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
    PropertyMapper properties = PropertyMapper.get(); // applies what is not null
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
