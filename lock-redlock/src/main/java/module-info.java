/** Locks on a majority of independent Redis servers, through Jedis. */
module dev.interlock.redlock {
  requires transitive dev.interlock.api;
  requires transitive redis.clients.jedis;
  requires dev.interlock.redis;
  requires com.google.common;
  requires org.apache.commons.pool2;
  requires org.slf4j;

  exports dev.interlock.redlock;

  provides dev.interlock.spi.LockProvider with
      dev.interlock.redlock.RedlockProvider;
}
