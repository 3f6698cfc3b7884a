package dev.interlock.redis;

import dev.interlock.redis.server.LockKeys;
import dev.interlock.tck.Permissions;
import dev.interlock.testbed.kit.RedisStore;
import dev.interlock.testbed.redis.RedisServer;
import java.io.IOException;
import java.util.Optional;

/** A disposable Redis for the kit. */
final class RedisUnderTest extends RedisStore {

  private static final Keys KEYS =
      new Keys(
          name -> LockKeys.of(RedisSettings.defaults().namespace(), name).toString(),
          key -> key.endsWith(":fence"));

  RedisUnderTest(RedisServer redis) {
    this(redis, "");
  }

  /** Starts a Redis for a user who must not be refused anything. */
  RedisUnderTest(RedisServer redis, String userInfo) {
    super(redis, userInfo, "", KEYS);
  }

  @Override
  public Optional<Permissions> permissions() throws IOException {
    return Optional.of(userPermissions());
  }
}
