package dev.interlock.redis;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.testbed.RedisSentinels;
import dev.interlock.testbed.Testbed;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/**
 * A Redis that sentinels watch keeps the contract. Its servers tell clients where they are, past
 * the kit's proxies: what a broken network does to the client is tested on a single Redis.
 */
@Tag("extended")
class RedisSentinelContractTest extends LockTck {

  private static RedisSentinels servers;

  @BeforeAll
  static void start() {
    // Longer than any server stands still on a busy machine: a fail-over may lose locks.
    servers = Testbed.redisSentinels().downAfter(Duration.ofSeconds(30)).start();
  }

  @AfterAll
  static void stop() {
    servers.close();
  }

  @Override
  protected Harness harness() {
    return Harness.at(servers.uri());
  }
}
