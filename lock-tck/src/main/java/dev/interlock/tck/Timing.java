package dev.interlock.tck;

import dev.interlock.BackendInfo;
import java.time.Duration;
import java.util.Collections;
import java.util.List;

/**
 * The durations that the tests use, scaled to the backend's declarations. No test depends on speed,
 * as long as everything happens within the bound.
 *
 * @param ttl the TTL of leases that are expected to expire
 * @param renewedTtl the TTL of leases that renewal must keep alive, even on a busy machine
 * @param longTtl the TTL of leases that neither expire nor need renewal during a test
 * @param requestTimeout the clients' request time-out
 * @param bound the tolerated delay
 */
public record Timing(
    Duration ttl, Duration renewedTtl, Duration longTtl, Duration requestTimeout, Duration bound) {

  private static final String SLACK = "interlock.tck.slack";
  private static final Duration MIN_TTL = Duration.ofMillis(1_500);
  private static final Duration MIN_RENEWED_TTL = Duration.ofSeconds(4);

  /** A lease with this TTL, renewed every third of it, survives a stall of three seconds. */
  private static final Duration MAX_RENEWED_TTL_FROM_SLACK = Duration.ofSeconds(6);

  private static final Duration MIN_LONG_TTL = Duration.ofSeconds(60);
  private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(2);

  /**
   * Returns the default durations.
   *
   * @param info the backend's declarations
   * @param slack the tolerated delay beyond request time-out and granularity
   * @return a request time-out of 2 s; TTLs of at least 1.5, 4 and 60 s, longer for backends whose
   *     shortest TTL or granularity demands it; a bound of request time-out, granularity and slack.
   *     {@code renewedTtl} is at least the slack, up to 6 s; {@code longTtl} is at least four times
   *     the bound.
   */
  public static Timing of(BackendInfo info, Duration slack) {
    Duration ttl = longest(MIN_TTL, info.minTtl(), info.granularity().multipliedBy(2));
    Duration bound = REQUEST_TIMEOUT.plus(info.granularity()).plus(slack);
    return new Timing(
        ttl,
        longest(
            MIN_RENEWED_TTL,
            Collections.min(List.of(slack, MAX_RENEWED_TTL_FROM_SLACK)),
            ttl,
            info.granularity().multipliedBy(4)),
        // A shorter TTL could free a lock that was not released before a test notices that.
        longest(MIN_LONG_TTL, ttl.multipliedBy(4), bound.multipliedBy(4)),
        REQUEST_TIMEOUT,
        bound);
  }

  static Duration usualSlack() {
    String seconds = System.getProperty(SLACK, "2");
    if (!seconds.matches("[1-9][0-9]{0,3}")) {
      throw new IllegalArgumentException(
          "-D" + SLACK + "=" + seconds + ": must be a whole number of seconds from 1 to 9999");
    }
    return Duration.ofSeconds(Long.parseLong(seconds));
  }

  private static Duration longest(Duration... durations) {
    return Collections.max(List.of(durations));
  }
}
