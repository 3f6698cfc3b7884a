package shop;

import java.util.List;
import java.util.Locale;
import org.springframework.stereotype.Component;
import redis.clients.jedis.RedisClient;

/**
 * The amounts in stock, in Redis. It refuses a seller whose lock has passed to another: it keeps
 * the highest token that has read an amount, and takes writes with that token only.
 */
@Component
class Stock {

  // Tokens are compared as text of 19 digits: the numbers of Lua have 53 bits, tokens up to 63.
  private static final String CLAIM_AND_READ =
      """
      local seen = redis.call('HGET', KEYS[1], 'token')
      if seen and seen > ARGV[1] then return -1 end
      redis.call('HSET', KEYS[1], 'token', ARGV[1])
      return tonumber(redis.call('HGET', KEYS[1], 'amount') or '0')
      """;
  private static final String WRITE =
      """
      if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return -1 end
      redis.call('HSET', KEYS[1], 'amount', ARGV[2])
      return 0
      """;

  private final RedisClient redis;

  Stock(RedisClient redis) {
    this.redis = redis;
  }

  long claimAndRead(String item, long token) {
    return accepted(item, redis.eval(CLAIM_AND_READ, List.of(key(item)), List.of(text(token))));
  }

  void write(String item, long amount, long token) {
    accepted(item, redis.eval(WRITE, List.of(key(item)), List.of(text(token), "" + amount)));
  }

  void fill(String item, long amount) {
    redis.hset(key(item), "amount", "" + amount);
  }

  long read(String item) {
    String amount = redis.hget(key(item), "amount");
    return amount == null ? 0 : Long.parseLong(amount);
  }

  private static long accepted(String item, Object reply) {
    long result = (Long) reply;
    if (result < 0) {
      throw new IllegalStateException("another has sold " + item + " with a later token");
    }
    return result;
  }

  private static String key(String item) {
    return "stock:" + item;
  }

  private static String text(long token) {
    return String.format(Locale.ROOT, "%019d", token);
  }
}
