-- Extends a hold that the claim still has, and the retention of the fence.
--
-- KEYS: lock
-- ARGV: the hold; TTL in ms; retention of the fence in ms
-- Replies: as renew
--
-- The fence is not declared as a key, see renew.
--#include share_extend
if held then return {'renewed'} end
local value = redis.call('TYPE', KEYS[1]).ok ~= 'none'
--#include on_primary
if type(ends) == 'table' then
--#include foreign
  return foreign(KEYS[1], ends)
end
if redis.call('ZSCORE', KEYS[1], 'revoked|' .. ARGV[1]) then return {'gone', 'revoked'} end
return {'gone', value and 'ended' or 'absent'}
