-- Extends the TTL and the retention of the fence if the claim has the lock on this node. Restores the
-- lock for the claim if asked to, unless another claim has it or the node has seen a later token.
--
-- KEYS: lock, fence, record
-- ARGV: the claim's value; TTL in ms; token; retention in ms; run; maxTtl in ms; number of nodes;
--       1 to restore
-- Replies: renewed
--          restored
--          gone, and absent, revoked or taken
--          refused, why, and a number
--          foreign, a key, and its content
local run, longest, nodes = ARGV[5], ARGV[6], ARGV[7]
--#include voting
--#include value
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
