package dev.interlock.redis;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisRights;
import dev.interlock.testbed.redis.RedisServer;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The documented rights are sufficient, and each of them is necessary. */
class DocumentedRightsTest {

  @Test
  void onOneServer() throws Exception {
    RedisRights rights = EveryRight.documented("redis");
    RedisRights more = rights.and(EveryRight.documented("database"));
    try (RedisServer redis = Testbed.redis().start()) {
      List<RedisServer> servers = List.of(redis);
      String uri = redis.uri().replace("redis://", "redis://" + rights.userInfo());
      rights.requireExact(servers, () -> EveryRight.use(uri, "job", redis, servers));
      more.requireExact(servers, () -> EveryRight.use(uri + "/3", "job", redis, servers));
    }
  }
}
