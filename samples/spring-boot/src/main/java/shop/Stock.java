package shop;

import dev.interlock.Lease;
import dev.interlock.redis.RedisFence;
import org.springframework.stereotype.Component;
import redis.clients.jedis.RedisClient;

/** The amounts in stock, in Redis. A fence refuses a seller that has lost its lock to another. */
@Component
class Stock {

  private final RedisClient redis;
  private final RedisFence fence;

  Stock(RedisClient redis) {
    this.redis = redis;
    this.fence = RedisFence.using(redis);
  }

  /** Reads the amount, and keeps out the writes of everyone who has read it before. */
  long claimAndRead(String item, Lease lease) {
    fence.claim(lease);
    return read(item);
  }

  void write(String item, long amount, Lease lease) {
    fence.set(lease, key(item), "" + amount);
  }

  void fill(String item, long amount) {
    redis.set(key(item), "" + amount);
  }

  long read(String item) {
    String amount = redis.get(key(item));
    return amount == null ? 0 : Long.parseLong(amount);
  }

  private static String key(String item) {
    return "stock:" + item;
  }
}
