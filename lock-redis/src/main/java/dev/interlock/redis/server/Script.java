package dev.interlock.redis.server;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * What is done on the server in one step, one script per verb.
 *
 * <p>{@code KEYS[1]} is the lock, {@code KEYS[2]} the fence, {@code ARGV[1]} the value that the
 * claim writes: its id, a bar, and the holder's label. A claim is compared by this whole value. The
 * value of a revoked lock is {@code revoked|} before the value that it had, and that of a lock
 * whose release somebody listens for is {@code awaited|} before that.
 *
 * <p>The reply to what happens nearly always is one value: the token of an acquisition, the word
 * {@code released}. Every other reply is an array that begins with a word, so that no number can be
 * mistaken for another ({@code -PTTL} of a key without expiry is +1 and would look like a token).
 * {@code foreign}, a key, and what is there instead is the reply wherever a key holds something
 * that is not ours. Each script reads what it needs before it writes, so that one that fails leaves
 * nothing behind.
 *
 * <p>Numbers in Lua are doubles: exact below 2<sup>53</sup>. Redis writes one that is an argument
 * of a command with 17 digits, but {@code tostring} rounds to 14.
 *
 * <p>The server runs one script at a time, so what a script costs there bounds what all clients get
 * done together. Lua makes a local function anew in every call, and Redis an array of a reply; so
 * the functions are made where they are needed, which is seldom, and the usual replies are no
 * arrays.
 */
public final class Script {

  /**
   * Makes {@code foreign(key, problem)}: the reply for a key that could not be read as a string.
   * Errors of another kind (no permission) are passed on.
   */
  public static final String FOREIGN =
      """
      local function foreign(key, problem)
        if not string.find(problem.err, 'WRONGTYPE', 1, true) then return problem end
        return {'foreign', key, redis.call('TYPE', key).ok}
      end
      """;

  /** Makes {@code ours(value)}: whether a value was written by a claim. */
  public static final String OURS =
      """
      local function ours(value)
        if string.sub(value, 1, 8) == 'revoked|' then value = string.sub(value, 9) end
        return string.find(value, '^[%w_-]+|') and string.find(value, '|', 1, true) == 28
      end
      """;

  /** Reads the lock's {@code value}, and whether it is {@code awaited}. */
  public static final String VALUE =
      """
      local value = redis.pcall('GET', KEYS[1])
      if type(value) == 'table' then
      """
          + FOREIGN
          + """
        return foreign(KEYS[1], value)
      end
      local awaited = value and string.sub(value, 1, 8) == 'awaited|'
      if awaited then value = string.sub(value, 9) end
      """;

  /**
   * Ends the script on a replica, which may lag behind its primary: that it does not have the
   * claim's value says nothing then. Writes, without changing anything. Only a primary lacks memory
   * for a write, or a disk to save it to.
   */
  private static final String ON_PRIMARY =
      """
        local refused
        if value then
          refused = redis.pcall('SET', KEYS[1], '', 'NX')
        else
          refused = redis.pcall('DEL', KEYS[1])
        end
        if type(refused) == 'table'
            and not string.find(refused.err, 'OOM', 1, true)
            and not string.find(refused.err, 'MISCONF', 1, true) then
          return refused
        end
      """;

  /**
   * Publishes a release if somebody listens, and ends the script. A user without permission for the
   * channel must not fail half-way, as the lock is gone by then.
   */
  private static final String ANNOUNCED =
      """
      if awaited then
        local told = redis.pcall('PUBLISH', KEYS[1], '')
        if type(told) == 'table' then return {'released', told.err} end
      end
      return 'released'
      """;

  /**
   * Takes the lock if it is free, and its next token: one more than the last, or the server's time
   * in sixteenths of a millisecond if that is higher, so that tokens go on rising when the fence
   * key has expired or was lost. ARGV: value, TTL in ms, retention of the fence in ms, and anything
   * at all from those who listen for releases.
   *
   * <p>A lock that one of them is refused is marked, and for as long as it is held: nothing is
   * published of one that nobody has listened for. This is no matter of subscriptions, as in a
   * cluster these are elsewhere.
   *
   * <p>A lock that is already held by this very value was taken by the same request, sent again
   * after its reply was lost: it is granted anew.
   *
   * <p>Replies the token, a number; or {@code busy} and the remaining TTL in ms.
   */
  public static final Script ACQUIRE =
      new Script(
          2,
          """
      local last = redis.pcall('GET', KEYS[2])
      if last then
        if type(last) == 'table' then
      """
              + FOREIGN
              + """
          return foreign(KEYS[2], last)
        end
        local number = string.find(last, '^%d+$') and #last <= 16 and tonumber(last)
        if not number or number > 9007199254740990 then
          return {'foreign', KEYS[2], 'no token'}
        end
        last = number
      end
      local now = redis.call('TIME')
      if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
      """
              + VALUE
              + """
        if value ~= ARGV[1] then
          local left = redis.call('PTTL', KEYS[1])
          if left == -1 then return {'foreign', KEYS[1], 'no expiry'} end
      """
              + OURS
              + """
          if not ours(value) then return {'foreign', KEYS[1], 'no lock'} end
          if ARGV[4] and not awaited and left > 0 then
            redis.call('SET', KEYS[1], 'awaited|' .. value, 'PX', left)
          end
          return {'busy', left}
        end
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
      end
      local token = now[1] * 16000 + math.floor(now[2] * 16 / 1000)
      if last and last >= token then token = last + 1 end
      redis.call('SET', KEYS[2], token, 'PX', ARGV[3])
      return token
      """);

  /**
   * Extends the TTL if the lock is still held by this value, and the fence with it. ARGV: value,
   * TTL in ms, retention of the fence in ms.
   *
   * <p>The fence is not declared as a key: while a cluster moves the slot, it refuses what names
   * two keys and finds one of them, and no renewal must fail because of the fence.
   *
   * <p>Replies {@code renewed}; or {@code gone} and {@code absent}, {@code revoked} or {@code
   * taken}.
   */
  public static final Script RENEW =
      new Script(
          1,
          VALUE
              + """
      if value == ARGV[1] then
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
        redis.pcall('PEXPIRE', KEYS[1] .. ':fence', ARGV[3])
        return {'renewed'}
      end
      """
              + ON_PRIMARY
              + """
      if not value then return {'gone', 'absent'} end
      if value == 'revoked|' .. ARGV[1] then return {'gone', 'revoked'} end
      return {'gone', 'taken'}
      """);

  /**
   * Gives the lock up if it is held by this value, or was until it was revoked, and tells those who
   * listen. ARGV: value.
   *
   * <p>Replies {@code released}, alone, or in an array with the error if the waiters could not be
   * told; or {@code not held}.
   */
  public static final Script RELEASE =
      new Script(
          1,
          VALUE
              + """
      if value ~= ARGV[1] and value ~= 'revoked|' .. ARGV[1] then
      """
              + ON_PRIMARY
              + """
        return {'not held'}
      end
      redis.call('DEL', KEYS[1])
      """
              + ANNOUNCED);

  /** Takes the lock away from whoever holds it; the fence stays. Replies as RELEASE does. */
  public static final Script FORCE_RELEASE =
      new Script(
          1,
          OURS
              + VALUE
              + """
      if not value then
      """
              + ON_PRIMARY
              + """
        return {'not held'}
      end
      if not ours(value) then return {'foreign', KEYS[1], 'no lock'} end
      redis.call('DEL', KEYS[1])
      """
              + ANNOUNCED);

  /**
   * Makes the holder unable to renew, and keeps the lock for what is left of its TTL. Replies
   * {@code revoked} or {@code not held}.
   */
  public static final Script REVOKE =
      new Script(
          1,
          OURS
              + VALUE
              + """
      if not value then
      """
              + ON_PRIMARY
              + """
        return {'not held'}
      end
      local left = redis.call('PTTL', KEYS[1])
      if left == -1 then return {'foreign', KEYS[1], 'no expiry'} end
      if not ours(value) then return {'foreign', KEYS[1], 'no lock'} end
      if string.sub(value, 1, 8) ~= 'revoked|' then
        value = (awaited and 'awaited|' or '') .. 'revoked|' .. value
        redis.call('SET', KEYS[1], value, 'PX', math.max(left, 1))
      end
      return {'revoked'}
      """);

  /**
   * Looks. Replies {@code free}; or {@code held}, the value, the remaining TTL in ms, the server's
   * time in ms, and the last token if there is one.
   */
  public static final Script INSPECT =
      new Script(
          2,
          OURS
              + FOREIGN
              + VALUE
              + ON_PRIMARY
              + """
      if not value then return {'free'} end
      local left = redis.call('PTTL', KEYS[1])
      if left == -1 then return {'foreign', KEYS[1], 'no expiry'} end
      if not ours(value) then return {'foreign', KEYS[1], 'no lock'} end
      local last = redis.pcall('GET', KEYS[2])
      if type(last) == 'table' then return foreign(KEYS[2], last) end
      local now = redis.call('TIME')
      return {'held', value, left, now[1] * 1000 + math.floor(now[2] / 1000), last or nil}
      """);

  private final byte[] keyCount;
  private final byte[] source;
  private final byte[] digest;

  /**
   * Makes a script.
   *
   * @param keyCount how many keys it takes; the lock first, then the fence
   * @param body Lua, in ASCII
   */
  public Script(int keyCount, String body) {
    this.keyCount = ascii(Integer.toString(keyCount));
    this.source = ascii(body);
    this.digest = ascii(sha1(source));
  }

  /**
   * Returns the number of keys, as Redis wants to have it.
   *
   * @return digits
   */
  public byte[] keyCount() {
    return keyCount;
  }

  /**
   * Returns whether the fence is among the keys.
   *
   * @return false if it needs the lock alone
   */
  public boolean needsFence() {
    return keyCount[0] >= '2';
  }

  /**
   * Returns the whole script.
   *
   * @return Lua
   */
  public byte[] source() {
    return source;
  }

  /**
   * Returns by what the server knows the script once it has seen it.
   *
   * @return hexadecimal digits
   */
  public byte[] digest() {
    return digest;
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  private static String sha1(byte[] source) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-1").digest(source));
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java platform has SHA-1", e);
    }
  }
}
