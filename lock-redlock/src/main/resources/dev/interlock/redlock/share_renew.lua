-- Extends a hold that the claim still has, and the retention of the fence.
--
-- KEYS: lock, fence, record
-- ARGV: the hold; TTL in ms; retention of the fence in ms; the claim's id; token; run; maxTtl in ms;
--       number of nodes
-- Replies: renewed
--          gone, and absent, ended, revoked or taken
--          refused, why, and a number
--          foreign, a key, and its content
local run, longest, nodes = ARGV[6], ARGV[7], ARGV[8]
--#include voting
--#include share_extend
if held then
  local token = tonumber(ARGV[5])
  redis.call('ZADD', KEYS[1], 'XX', -token, ARGV[4])
  if at.last and at.last < token then raise(token, retention) end
  return {'renewed'}
end
if type(ends) == 'table' then
  -- A missing permission proves nothing about the hold.
  if not string.find(ends.err, 'WRONGTYPE', 1, true) then return ends end
  return {'gone', 'taken'}
end
if redis.call('ZSCORE', KEYS[1], 'revoked|' .. ARGV[1]) then return {'gone', 'revoked'} end
return {'gone', redis.call('TYPE', KEYS[1]).ok == 'none' and 'absent' or 'ended'}
