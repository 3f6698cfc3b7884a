package dev.interlock.redis;

import dev.interlock.Lease;
import redis.clients.jedis.UnifiedJedis;

/** The recipe of docs/fencing.md for Redis, which has a part of this file as it is. */
final class RedisStock {

  private final UnifiedJedis jedis;
  private final RedisFence fence;

  RedisStock(UnifiedJedis jedis) {
    this.jedis = jedis;
    this.fence = RedisFence.using(jedis);
  }

  /** Sells one piece. The key's hash tag is the name of the lock. */
  boolean sell(Lease lease) {
    fence.claim(lease); // before the read
    int quantity = Integer.parseInt(jedis.get("{stock/42}:quantity"));
    if (quantity == 0) {
      return false;
    }
    // … any work, however long
    fence.set(lease, "{stock/42}:quantity", "" + (quantity - 1));
    return true;
  }
}
