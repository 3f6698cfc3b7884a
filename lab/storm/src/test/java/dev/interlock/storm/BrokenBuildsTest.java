package dev.interlock.storm;

import static org.junit.jupiter.api.Assertions.fail;

import dev.interlock.storm.report.StormResult;
import dev.interlock.tck.Harness;
import dev.interlock.testbed.Testbed;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * Storms catch locks with a mistake. Each storm is repeated with another seed until it does, for at
 * most five minutes. Runs only with {@code -Dinterlock.storm.broken}, because it takes minutes, and
 * luck.
 */
@EnabledIfSystemProperty(named = "interlock.storm.broken", matches = ".*")
@Timeout(420)
class BrokenBuildsTest {
  private static final Duration LIMIT = Duration.ofMinutes(5);

  @TempDir private Path folder;

  @Test
  void validityCountedFromTheReplyIsCaught() throws Exception {
    assertCaught("EXCL-01", 60, false, new BrokenBuilds.CountedFromReply());
  }

  /** Only after a forced release does a lock get another owner while its lease is still renewed. */
  @Test
  void aRenewalThatDoesNotCheckTheOwnerIsCaught() throws Exception {
    // The last third has faults beyond the failure model, and no quiet time falls into its end.
    assertCaught("LEASE-04", 80, true, new BrokenBuilds.RenewsAnyOwner());
  }

  @Test
  void aWatchThatIsTrustedIsCaught() throws Exception {
    assertCaught("WAIT-05", 15, false, new BrokenBuilds.WatchTrusted());
  }

  private void assertCaught(String rule, int seconds, boolean beyond, Harness broken)
      throws Exception {
    Duration storm = Duration.ofSeconds(seconds);
    long start = System.nanoTime();
    StringBuilder attempts = new StringBuilder();
    for (long seed = 1; System.nanoTime() - start < LIMIT.minus(storm).toNanos(); seed++) {
      StormResult result = storm(storm, seed, beyond, broken);
      attempts.append("seed ").append(seed).append(": ").append(result.findings()).append('\n');
      if (result.findings().stream().anyMatch(finding -> finding.rule().equals(rule))) {
        return;
      }
    }
    fail("not caught: " + attempts);
  }

  private StormResult storm(Duration duration, long seed, boolean beyond, Harness broken)
      throws Exception {
    return StormRun.run(
        new StormSettings(
            "redis",
            new StormSettings.DisposableStore(() -> Testbed.redis().start()),
            broken,
            duration,
            seed,
            beyond,
            3,
            4,
            folder,
            () -> false,
            line -> {}));
  }
}
