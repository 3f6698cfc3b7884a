package dev.interlock.redis;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisRights;
import dev.interlock.testbed.redis.RedisSentinels;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/**
 * A Redis that sentinels watch keeps the contract, for a user with the documented rights. Its
 * servers announce their own addresses, past the kit's proxies: what a broken network does to the
 * client is tested on a single Redis.
 */
@Tag("extended")
class RedisSentinelContractTest extends LockTck {

  private static RedisRights rights;
  private static RedisRights sentinelRights;
  private static RedisSentinels servers;

  @BeforeAll
  static void start() throws IOException {
    rights = EveryRight.documented("redis");
    sentinelRights = EveryRight.documented("sentinel");
    // Longer than any server stands still on a busy machine: a fail-over may lose locks.
    servers = rights.grantOn(Testbed.redisSentinels().downAfter(Duration.ofSeconds(30))).start();
    sentinelRights.grantOn(servers.sentinels());
  }

  @AfterAll
  static void stop() {
    servers.close();
  }

  @Override
  protected Harness harness() {
    return Harness.at(
        servers.uri().replace("://", "://" + rights.userInfo())
            + "?sentinelUser="
            + sentinelRights.user()
            + "&sentinelPassword="
            + sentinelRights.password());
  }
}
