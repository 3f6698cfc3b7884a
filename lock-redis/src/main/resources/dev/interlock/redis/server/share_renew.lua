-- Extends a hold that the claim still has, and the retention of the fence. Expires the key first:
-- a server without memory refuses to begin with ZADD.
--
-- KEYS: lock
-- ARGV: the hold; TTL in ms; retention of the fence in ms
-- Replies: as renew
--
-- The fence is not declared as a key, see renew.
local ends = redis.pcall('ZSCORE', KEYS[1], ARGV[1])
--#include now
if type(ends) == 'string' and tonumber(ends) >= now then
--#include last_hold
  for i = 1, waiting and #waiting or 0 do latest = math.max(latest, waiting[i].ends) end
  ends = now + ARGV[2]
  latest = math.max(latest, ends)
  redis.call('PEXPIREAT', KEYS[1], latest)
  redis.call('ZADD', KEYS[1], 'XX', ends, ARGV[1])
  redis.pcall('PEXPIRE', KEYS[1] .. ':fence', latest - ends + ARGV[3])
  return {'renewed'}
end
local value = redis.call('TYPE', KEYS[1]).ok ~= 'none'
--#include on_primary
if type(ends) == 'table' then
--#include foreign
  return foreign(KEYS[1], ends)
end
if redis.call('ZSCORE', KEYS[1], 'revoked|' .. ARGV[1]) then return {'gone', 'revoked'} end
return {'gone', value and 'ended' or 'absent'}
