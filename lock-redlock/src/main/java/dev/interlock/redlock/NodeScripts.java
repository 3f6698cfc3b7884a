package dev.interlock.redlock;

import dev.interlock.redis.server.Script;

/**
 * What is done on one node in one step, beside the scripts that a single Redis has, too.
 *
 * <p>{@code KEYS[1]} is the lock, {@code KEYS[2]} its fence, {@code KEYS[3]} the node's record: a
 * hash that never expires. Its fields: {@code run}, the process that may vote; {@code longest}, the
 * longest TTL in ms that may be asked for; {@code nodes}, of how many nodes a majority is counted,
 * which version 0.1 did not write; {@code floor}, the highest fence that was ever here; {@code
 * base}, what the floor was when the node was admitted, below which a fence may be stale; {@code
 * pending} and {@code until}, the process in quarantine, and its end; and the {@link Roll}: {@code
 * node} and a process, when a client called that a node, in ms, and by which address.
 *
 * <p>{@code refused} and why is the reply of a node that does not vote.
 */
final class NodeScripts {

  private static final String VOTING =
      Script.FOREIGN
          + Script.OURS
          + """
      local at = {}
      local function refused(run, longest, nodes)
        local r = redis.pcall('HMGET', KEYS[3],
            'run', 'longest', 'floor', 'base', 'pending', 'until', 'nodes')
        if r.err then return foreign(KEYS[3], r) end
        if r[1] ~= run then
          if r[5] ~= run then return {'refused', r[1] and 'restarted' or 'blank', 0} end
          local now = redis.call('TIME')
          local left = tonumber(r[6]) - (now[1] * 1000 + math.floor(now[2] / 1000))
          return {'refused', 'quarantined', math.max(left, 0)}
        end
        if r[2] ~= longest then return {'refused', 'longest', tonumber(r[2])} end
        if r[7] and r[7] ~= nodes then return {'refused', 'nodes', tonumber(r[7])} end
        at.floor = tonumber(r[3])
        at.base = tonumber(r[4])
        local last = redis.pcall('GET', KEYS[2])
        if type(last) == 'table' then return foreign(KEYS[2], last) end
        if last then
          at.last = string.find(last, '^%d+$') and #last <= 16 and tonumber(last)
          if not at.last or at.last > 9007199254740990 then
            return {'foreign', KEYS[2], 'no token'}
          end
        end
      end
      local function raise(fence, retention)
        local text = string.format('%.0f', fence)
        redis.call('SET', KEYS[2], text, 'PX', retention)
        if fence > at.floor then redis.call('HSET', KEYS[3], 'floor', text) end
      end
      """;

  /**
   * Votes for the claim if the lock is free, with a fence above all that the node may have had for
   * the name. ARGV: value, TTL in ms, retention of the fence in ms, hint, run, longest TTL, number
   * of nodes, and 1 from those who listen for releases, for whom a lock is marked as {@link
   * Script#ACQUIRE} does.
   *
   * <p>A lock that is already held by this very value was taken by the same request, sent again.
   *
   * <p>Replies {@code granted}, the fence, and what it was before, or 0; or {@code busy}, the
   * remaining TTL in ms, and who.
   */
  static final Script ACQUIRE =
      new Script(
          3,
          VOTING
              + """
      local no = refused(ARGV[5], ARGV[6], ARGV[7])
      if no then return no end
      if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
      """
              + Script.VALUE
              + """
        if value ~= ARGV[1] then
          local left = redis.call('PTTL', KEYS[1])
          if left == -1 then return {'foreign', KEYS[1], 'no expiry'} end
          if not ours(value) then return {'foreign', KEYS[1], 'no lock'} end
          if ARGV[8] == '1' and not awaited and left > 0 then
            redis.call('SET', KEYS[1], 'awaited|' .. value, 'PX', left)
          end
          return {'busy', left, string.sub(value, 1, 27)}
        end
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
      end
      local fence = math.max((at.last or at.floor) + 1, at.base + 1, tonumber(ARGV[4]))
      raise(fence, ARGV[3])
      return {'granted', fence, at.last or 0}
      """);

  /**
   * Raises the fence to the token that the claim was given, if it still has the lock. ARGV: value,
   * token, retention, run, longest TTL, number of nodes. Replies {@code confirmed} or {@code gone}.
   */
  static final Script CONFIRM =
      new Script(
          3,
          VOTING
              + """
      local no = refused(ARGV[4], ARGV[5], ARGV[6])
      if no then return no end
      """
              + Script.VALUE
              + """
      if value ~= ARGV[1] then return {'gone'} end
      raise(math.max(at.last or at.floor, tonumber(ARGV[2])), ARGV[3])
      return {'confirmed'}
      """);

  /**
   * Takes back the vote for a claim that has not been elected, and tells nobody. If nothing has
   * been granted since, the fence is what it was before: no token has come of it, and a holder that
   * lacks the lock here can still be given it. ARGV: value, fence, what it was before or 0,
   * retention.
   *
   * <p>Replies as {@link Script#RELEASE} does.
   */
  static final Script WITHDRAW =
      new Script(
          2,
          Script.VALUE
              + """
      if value ~= ARGV[1] and value ~= 'revoked|' .. ARGV[1] then return {'not held'} end
      redis.call('DEL', KEYS[1])
      if redis.pcall('GET', KEYS[2]) == ARGV[2] then
        if ARGV[3] == '0' then
          redis.call('DEL', KEYS[2])
        else
          redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[4])
        end
      end
      return 'released'
      """);

  /**
   * Extends the TTL, and the fence with it, if the claim has the lock here; and if there is none
   * and the claim is known to have a majority, gives it the lock here, too, unless the node has
   * seen a later token. ARGV: value, TTL, token, retention, run, longest TTL, number of nodes, and
   * 1 to restore.
   *
   * <p>Replies {@code renewed}, {@code restored}, or {@code gone} and why.
   */
  static final Script RENEW =
      new Script(
          3,
          VOTING
              + """
      local no = refused(ARGV[5], ARGV[6], ARGV[7])
      if no then return no end
      """
              + Script.VALUE
              + """
      local token = tonumber(ARGV[3])
      if value == ARGV[1] then
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
        redis.call('PEXPIRE', KEYS[2], ARGV[4])
        if at.last and at.last < token then raise(token, ARGV[4]) end
        return {'renewed'}
      end
      if not value then
        if ARGV[8] ~= '1' or (at.last and at.last > token) then return {'gone', 'absent'} end
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        raise(math.max(at.last or at.floor, token), ARGV[4])
        return {'restored'}
      end
      if value == 'revoked|' .. ARGV[1] then return {'gone', 'revoked'} end
      return {'gone', 'taken'}
      """);

  /**
   * Looks. ARGV: run, longest TTL, number of nodes. A node that does not vote does not say that a
   * lock is free, either: it may have forgotten it.
   *
   * <p>Replies {@code free}; or {@code held}, the value, the remaining TTL in ms, and the fence if
   * there is one.
   */
  static final Script INSPECT =
      new Script(
          3,
          VOTING
              + """
      local no = refused(ARGV[1], ARGV[2], ARGV[3])
      if no then return no end
      """
              + Script.VALUE
              + """
      if not value then return {'free'} end
      local left = redis.call('PTTL', KEYS[1])
      if left == -1 then return {'foreign', KEYS[1], 'no expiry'} end
      if not ours(value) then return {'foreign', KEYS[1], 'no lock'} end
      return {'held', value, left, at.last and string.format('%.0f', at.last) or nil}
      """);

  /**
   * Finds some keys, of one node. {@code KEYS[1]} is the record, which is not looked at. ARGV: the
   * cursor, the pattern, and about how many keys to look at.
   *
   * <p>Replies {@code keys}, the next cursor, which is 0 after the last keys, and the keys.
   */
  static final Script FIND_KEYS =
      new Script(
          1,
          """
      local found = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
      return {'keys', found[1], found[2]}
      """);

  private static final String RECORD =
      Script.FOREIGN
          + """
      local r = redis.pcall('HMGET', KEYS[1],
          'run', 'longest', 'floor', 'pending', 'until', 'nodes')
      if r.err then return foreign(KEYS[1], r) end
      local clock = redis.call('TIME')
      local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
      local function quarantine(run, longest)
        local most = math.max(tonumber(longest), tonumber(r[2] or '0'))
        redis.call('HSET', KEYS[1], 'pending', run, 'until', string.format('%.0f', now + most))
        return {'quarantined', r[3] or '0', most, r[2] or '', r[6] or ''}
      end
      """;

  /**
   * Says what the node is. {@code KEYS[1]} is the record. ARGV: run, longest TTL. A quarantine that
   * another restart has interrupted begins anew.
   *
   * <p>Replies the kind, the floor, what is left of the quarantine in ms, the longest TTL, and the
   * number of nodes, or nothing where they are not known.
   */
  static final Script EXAMINE =
      new Script(
          1,
          RECORD
              + """
      if r[1] == ARGV[1] then return {'member', r[3], 0, r[2], r[6] or ''} end
      if r[4] == ARGV[1] then
        return {'quarantined', r[3] or '0', math.max(tonumber(r[5]) - now, 0), r[2] or '', r[6] or ''}
      end
      if r[4] then return quarantine(ARGV[1], ARGV[2]) end
      if r[1] then return {'restarted', r[3], 0, r[2], r[6] or ''} end
      return {'blank', '0', 0, '', r[6] or ''}
      """);

  /** Begins the quarantine of a process. {@code KEYS[1]} is the record. ARGV: run, longest TTL. */
  static final Script QUARANTINE =
      new Script(
          1,
          RECORD
              + """
      if r[1] == ARGV[1] or r[4] == ARGV[1] then return {'unchanged'} end
      return quarantine(ARGV[1], ARGV[2])
      """);

  /**
   * Tells a node how many nodes there are, if it does not know yet: a blank one, or one of version
   * 0.1. {@code KEYS[1]} is the record. ARGV: run, longest TTL, number of nodes.
   */
  static final Script COUNT =
      new Script(
          1,
          RECORD
              + """
      if r[6] then return {'unchanged'} end
      redis.call('HSET', KEYS[1], 'nodes', ARGV[3])
      return {'counted'}
      """);

  /**
   * Calls the roll, and notes which nodes the client lists if this one is a member. {@code KEYS[1]}
   * is the record. ARGV: for how many ms notes are kept; and for each node to be noted its process,
   * how many ms ago it answered, and its address.
   *
   * <p>Replies the roll before it was called: of each process how many ms ago it was called a node,
   * and by which address.
   */
  static final Script CALL_ROLL =
      new Script(
          1,
          Script.FOREIGN
              + """
      local fields = redis.pcall('HGETALL', KEYS[1])
      if fields.err then return foreign(KEYS[1], fields) end
      local clock = redis.call('TIME')
      local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
      local roll, called, member = {'roll'}, {}, false
      for i = 1, #fields, 2 do
        member = member or fields[i] == 'run'
        local run = string.match(fields[i], '^node (.+)$')
        if run then
          local at, address = string.match(fields[i + 1], '^(%d+) (.*)$')
          local age = now - tonumber(at)
          if age < 0 or age > tonumber(ARGV[1]) then
            redis.call('HDEL', KEYS[1], fields[i])
          else
            called[run] = tonumber(at)
            roll[#roll + 1] = run
            roll[#roll + 1] = age
            roll[#roll + 1] = address
          end
        end
      end
      for i = 2, member and #ARGV or 0, 3 do
        local at = now - tonumber(ARGV[i + 1])
        if not called[ARGV[i]] or called[ARGV[i]] < at then
          redis.call('HSET', KEYS[1],
              'node ' .. ARGV[i], string.format('%.0f ', at) .. ARGV[i + 2])
        end
      end
      return roll
      """);

  /**
   * Lets a process vote. {@code KEYS[1]} is the record. ARGV: run, longest TTL, floor, the ground,
   * which has to hold still, and the number of nodes.
   */
  static final Script ADMIT =
      new Script(
          1,
          RECORD
              + """
      if r[1] == ARGV[1] then return {'unchanged'} end
      local holds
      if ARGV[4] == 'FOUNDING' then holds = not r[1] and not r[4] end
      if ARGV[4] == 'UNHARMED' then holds = r[1] and not r[4] end
      if ARGV[4] == 'SERVED' then holds = r[4] == ARGV[1] and tonumber(r[5]) <= now end
      if not holds then return {'unchanged'} end
      local floor = string.format('%.0f', math.max(tonumber(r[3] or '0'), tonumber(ARGV[3])))
      redis.call('HSET', KEYS[1], 'run', ARGV[1], 'longest', ARGV[2], 'floor', floor, 'base', floor,
          'nodes', ARGV[5])
      redis.call('HDEL', KEYS[1], 'pending', 'until')
      return {'admitted'}
      """);

  private NodeScripts() {}
}
