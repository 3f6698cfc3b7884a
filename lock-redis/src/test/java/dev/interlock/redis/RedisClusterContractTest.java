package dev.interlock.redis;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisCluster;
import dev.interlock.testbed.redis.RedisRights;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/**
 * A Redis Cluster keeps the contract, for a user with the documented rights. Its servers announce
 * clients where they are, past the kit's proxies: what a broken network does to the client is
 * tested on a single Redis.
 */
@Tag("extended")
class RedisClusterContractTest extends LockTck {

  private static RedisRights rights;
  private static RedisCluster servers;

  @BeforeAll
  static void start() throws IOException {
    rights = EveryRight.documented("redis-cluster");
    // Longer than any server stands still on a busy machine: a fail-over may lose locks.
    servers = rights.grantOn(Testbed.redisCluster().nodeTimeout(Duration.ofSeconds(10))).start();
  }

  @AfterAll
  static void stop() {
    servers.close();
  }

  @Override
  protected Harness harness() {
    return Harness.at(servers.uri().replace("://", "://" + rights.userInfo()));
  }
}
