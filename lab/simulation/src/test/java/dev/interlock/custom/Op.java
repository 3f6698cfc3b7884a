package dev.interlock.custom;

/**
 * The requests of the backends to Redis, each of which is a script. KEYS are the lock, the counter
 * of tokens, the queue and the expiry of its waiters. ARGV are the claim's id, the holder's label,
 * milliseconds, and the milliseconds for which a waiter may be silent.
 */
enum Op {

  /** Grants a free lock without waiters. Returns the token, or a number below 1. */
  ACQUIRE(
      """
      if redis.call('HGET', KEYS[1], 'claim') == ARGV[1] then
        return tonumber(redis.call('HGET', KEYS[1], 'token'))
      end
      if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
      purge()
      if redis.call('ZCARD', KEYS[3]) > 0 then return 0 end
      return grant()
      """),

  RENEW(
      """
      if redis.call('HGET', KEYS[1], 'claim') ~= ARGV[1] then return 0 end
      return redis.call('PEXPIRE', KEYS[1], ARGV[3])
      """),

  RELEASE(
      """
      leave()
      if redis.call('HGET', KEYS[1], 'claim') ~= ARGV[1] then return 0 end
      return redis.call('DEL', KEYS[1])
      """),

  /** Returns the holder, the token and the remaining milliseconds, followed by the waiters. */
  INSPECT(
      """
      purge()
      local seen = redis.call('HMGET', KEYS[1], 'holder', 'token')
      seen[3] = redis.call('PTTL', KEYS[1])
      for _, waiter in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
        seen[#seen + 1] = string.match(waiter, '|(.*)')
      end
      return seen
      """),

  FORCE("return redis.call('DEL', KEYS[1])"),

  /** Enters the queue at its end. */
  JOIN(
      """
      purge()
      redis.call('ZADD', KEYS[3], 'NX', redis.call('INCR', KEYS[2]), waiter)
      stay()
      return 1
      """),

  /**
   * Grants a free lock to the first waiter. Returns the same as ACQUIRE, or -1 if the waiter is not
   * in the queue, or -2 if it is not the first.
   */
  TAKE(
      """
      if redis.call('HGET', KEYS[1], 'claim') == ARGV[1] then
        return tonumber(redis.call('HGET', KEYS[1], 'token'))
      end
      purge()
      if not redis.call('ZSCORE', KEYS[3], waiter) then return -1 end
      stay()
      if redis.call('ZRANGE', KEYS[3], 0, 0)[1] ~= waiter then return -2 end
      if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
      leave()
      return grant()
      """);

  private static final String COMMON =
      """
      local time = redis.call('TIME')
      local now = time[1] * 1000 + math.floor(time[2] / 1000)
      local waiter = (ARGV[1] or '') .. '|' .. (ARGV[2] or '')
      local function leave()
        redis.call('ZREM', KEYS[3], waiter)
        redis.call('ZREM', KEYS[4], waiter)
      end
      local function stay()
        redis.call('ZADD', KEYS[4], now + ARGV[4], waiter)
        redis.call('PEXPIRE', KEYS[3], ARGV[4])
        redis.call('PEXPIRE', KEYS[4], ARGV[4])
      end
      local function purge()
        for _, gone in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now)) do
          redis.call('ZREM', KEYS[3], gone)
          redis.call('ZREM', KEYS[4], gone)
        end
      end
      local function grant()
        local token = redis.call('INCR', KEYS[2])
        redis.call('HSET', KEYS[1], 'claim', ARGV[1], 'holder', ARGV[2], 'token', token)
        redis.call('PEXPIRE', KEYS[1], ARGV[3])
        return token
      end
      """;

  private final String script;

  Op(String script) {
    this.script = script;
  }

  /** {@return the complete script} */
  String script() {
    return COMMON + script;
  }
}
