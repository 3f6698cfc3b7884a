/** Locks on one Redis, a Redis Cluster or a Sentinel group, through Jedis. */
@SuppressWarnings("module") // The one module that this exports to is compiled after it.
module dev.interlock.redis {
  requires transitive dev.interlock.api;
  requires transitive redis.clients.jedis;
  requires com.google.common;
  requires org.apache.commons.pool2;
  requires org.slf4j;

  exports dev.interlock.redis;
  exports dev.interlock.redis.server to
      dev.interlock.redlock;

  provides dev.interlock.spi.LockProvider with
      dev.interlock.redis.RedisProvider,
      dev.interlock.redis.RedisClusterProvider,
      dev.interlock.redis.RedisSentinelProvider;
}
