package dev.interlock.redis;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import dev.interlock.testbed.RedisCluster;
import dev.interlock.testbed.Testbed;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/**
 * A Redis Cluster keeps the contract. Its servers tell clients where they are, past the kit's
 * proxies: what a broken network does to the client is tested on a single Redis.
 */
class RedisClusterContractTest extends LockTck {

  private static RedisCluster servers;

  @BeforeAll
  static void start() {
    servers = Testbed.redisCluster().start();
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
