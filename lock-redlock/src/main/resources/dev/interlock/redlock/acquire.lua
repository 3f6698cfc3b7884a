-- Votes for the claim if the lock is free, with a fence above all that the node may have had for the
-- name.
--
-- KEYS: lock, fence, record
-- ARGV: the claim's value; TTL in ms; retention of the fence in ms; the client's clock as a fence;
--       run; longest TTL; number of nodes; the value of the lock on whose release the client waits
--       for a message, 1 for any lock, or an empty text
-- Replies: granted, the fence, and the fence before or 0
--          busy, the remaining TTL in ms, and the value
--          refused, why, and a number
--          foreign, a key, and what it holds
--
-- A lock that already has this value was taken by the same request, sent again.
local run, longest, nodes = ARGV[5], ARGV[6], ARGV[7]
--#include voting
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
--#include value
  if value ~= ARGV[1] then
    local left = redis.call('PTTL', KEYS[1])
    if left == -1 then return {'foreign', KEYS[1], 'no expiry'} end
--#include format_of
    local format = format_of(value)
    if not format then return {'foreign', KEYS[1], 'no lock'} end
    if (ARGV[8] == value or ARGV[8] == '1') and format == 1 and not awaited and left > 0 then
      redis.call('SET', KEYS[1], 'awaited|' .. value, 'PX', left)
    end
    return {'busy', left, value}
  end
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
local fence = math.max((at.last or at.floor) + 1, at.base + 1, tonumber(ARGV[4]))
raise(fence, ARGV[3])
return {'granted', fence, at.last or 0}
