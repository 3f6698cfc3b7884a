package dev.interlock.shedlock;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class ShedLockOnZooKeeperTest extends ShedLockTests {
  private static ZooKeeperEnsemble server;

  @BeforeAll
  static void start() {
    server = Testbed.zookeeper().start();
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @Override
  String uri() {
    return server.uri();
  }

  @Test
  void aLockOutlastsTheTimeOutOfTheSession() throws InterruptedException {
    LockOptions brief = LockOptions.builder().ttl(Duration.ofSeconds(8)).build();
    try (LockClient client = LockClient.open(uri(), brief)) {
      SimpleLock lock =
          new InterlockLockProvider(client)
              .lock(lockConfig(LOCK_NAME1, Duration.ofMinutes(5), Duration.ZERO))
              .orElseThrow();
      Lease alsoOnTheSession =
          client.lock("fixed", options -> options.autoRenew(false)).tryAcquire().orElseThrow();
      alsoOnTheSession.onLoss().orTimeout(1, TimeUnit.MINUTES).join();
      assertLocked(LOCK_NAME1);
      assertTrue(lock.extend(Duration.ofMinutes(5), Duration.ZERO).isPresent());
    }
  }
}
