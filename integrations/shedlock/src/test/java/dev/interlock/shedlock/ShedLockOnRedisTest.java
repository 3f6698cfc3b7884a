package dev.interlock.shedlock;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

class ShedLockOnRedisTest extends ShedLockTests {
  private static RedisServer server;

  @BeforeAll
  static void start() {
    server = Testbed.redis().start();
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @Override
  String uri() {
    return server.uri();
  }
}
