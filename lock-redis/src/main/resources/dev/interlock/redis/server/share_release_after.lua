-- Defers the release: if the claim has the hold, and it was not revoked, keeps it for a time without
-- the claim. The new hold is one that nobody renews or releases. Notifies waiters, because they plan to
-- ask at the old end.
--
-- KEYS: lock
-- ARGV: the hold; the claim's id; the new hold; the new id; the time in ms; retention of the fence in ms
-- Replies: as release
--
-- The fence is not declared as a key, see renew.
--#include now
local ends = redis.pcall('ZSCORE', KEYS[1], ARGV[1])
if type(ends) == 'string' and tonumber(ends) >= now then
--#include clock
  local token = redis.call('ZSCORE', KEYS[1], ARGV[2])
  redis.call('ZREM', KEYS[1], ARGV[1], ARGV[2])
--#include last_hold
  for i = 1, waiting and #waiting or 0 do latest = math.max(latest, waiting[i].ends) end
  ends = now + ARGV[5]
  latest = math.max(latest, ends)
  redis.call('ZADD', KEYS[1], ends, ARGV[3])
  if token then redis.call('ZADD', KEYS[1], token, ARGV[4]) end
  redis.call('PEXPIREAT', KEYS[1], latest)
  redis.pcall('PEXPIRE', KEYS[1] .. ':fence', latest - ends + ARGV[6])
  local awaited, recipient = waiting and #waiting > 0, ''
--#include announce
end
if type(ends) == 'table' then
--#include foreign
  return foreign(KEYS[1], ends)
end
if redis.call('ZSCORE', KEYS[1], ARGV[3]) then return 'released' end
local value = redis.call('TYPE', KEYS[1]).ok ~= 'none'
--#include on_primary
return {'not held'}
