package dev.interlock.micrometer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Meters agree with the operations of clients on a real Redis. */
@Timeout(180)
class RedisMetricsTest {

  private static final LockOptions OPTIONS =
      LockOptions.builder()
          .ttl(Duration.ofSeconds(6))
          .requestTimeout(Duration.ofSeconds(5))
          .build();

  @AutoClose private final RedisServer redis = Testbed.redis().start();
  @AutoClose private final LockClient client = LockClient.open(redis.uri(), OPTIONS);
  @AutoClose private final LockClient other = LockClient.open(redis.uri(), OPTIONS);
  @AutoClose private final Recorded recorded = new Recorded(client);

  @Test
  void contentionBetweenTwoClientsIsCountedExactly() throws Exception {
    int threads = 4;
    int holds = 50;
    List<CompletableFuture<Void>> work = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      LockClient own = i % 2 == 0 ? client : other;
      work.add(
          CompletableFuture.runAsync(
              () -> {
                for (int n = 0; n < holds; n++) {
                  acquire(own).close();
                }
              },
              task -> new Thread(task).start()));
    }
    for (CompletableFuture<Void> each : work) {
      each.get();
    }
    recorded.settle();
    long acquired = recorded.timed("interlock.acquire", "outcome", "acquired");
    long handedOff = recorded.timed("interlock.acquire", "outcome", "handed_off");
    long expected = threads / 2L * holds;
    assertEquals(expected, acquired + handedOff);
    assertEquals(handedOff, recorded.timed("interlock.hold", "outcome", "handed_off"));
    assertEquals(acquired, recorded.timed("interlock.hold", "outcome", "released"));
    assertTrue(recorded.counted("interlock.contended") > 0);
    assertTrue(recorded.counted("interlock.contended") <= expected);
    assertEquals(0, recorded.gauge("interlock.held", "exclusive"));
    assertEquals(0, recorded.gauge("interlock.waiting", "exclusive"));
  }

  private static Lease acquire(LockClient client) {
    try {
      return client.lock("a").acquire();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void aForcedReleaseAndAServerThatDiesAreLosses() throws Exception {
    Lease forced = client.lock("a").acquire();
    assertTrue(other.admin().forceRelease("a"));
    assertEquals(LossReason.TAKEN, forced.onLoss().get(1, TimeUnit.MINUTES).reason());

    Lease renewed = client.lock("b").acquire();
    while (recorded.counted("interlock.renewals", "outcome", "confirmed") < 2) {
      Thread.sleep(10);
    }
    redis.kill();
    assertEquals(LossReason.EXPIRED, renewed.onLoss().get(1, TimeUnit.MINUTES).reason());
    redis.restart();
    recorded.settle();

    assertEquals(1, recorded.counted("interlock.lost", "reason", "taken"));
    assertEquals(1, recorded.counted("interlock.lost", "reason", "expired"));
    assertEquals(2, recorded.timed("interlock.hold", "outcome", "lost"));
    assertTrue(recorded.counted("interlock.at.risk") >= 1);
    assertTrue(recorded.counted("interlock.renewals", "outcome", "failed") >= 1);
    assertEquals(0, recorded.gauge("interlock.held", "exclusive"));
  }
}
