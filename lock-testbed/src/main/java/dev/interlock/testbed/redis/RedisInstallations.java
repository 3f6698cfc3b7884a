package dev.interlock.testbed.redis;

import dev.interlock.testbed.install.BinaryInstallation;
import dev.interlock.testbed.install.ContainerInstallation;
import dev.interlock.testbed.install.Installation;
import dev.interlock.testbed.install.UnsuitableWayException;
import dev.interlock.testbed.server.Way;

/** Where a Redis server program comes from. */
final class RedisInstallations {
  private RedisInstallations() {}

  static Installation find(Way way) throws UnsuitableWayException {
    return switch (way) {
      case BINARY -> BinaryInstallation.find("redis-server", "interlock.redis.binary");
      case EMBEDDED -> EmbeddedRedis.find();
      case DOCKER ->
          ContainerInstallation.find("redis-server", "interlock.redis.image", "redis:7.2");
      case ENDPOINT -> throw new IllegalArgumentException("an endpoint is not an installation");
    };
  }
}
