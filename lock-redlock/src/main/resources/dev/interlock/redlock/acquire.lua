-- Votes for the claim if the lock is free, with a fence above all fences that the node may have had for
-- the name.
--
-- KEYS: lock, fence, record
-- ARGV: the claim's value; TTL in ms; retention of the fence in ms; the client's clock as a fence;
--       run; maxTtl in ms; number of nodes; and from a client that waits: its id at this node; how
--       long its place in the line is kept, in ms; how long it has waited, in ms
-- Replies: granted, the fence, and the fence before or 0
--          busy, the remaining TTL in ms, and the value, empty while it is reserved for another
--          refused, why, and a number
--          foreign, a key, and its content
--
-- A lock that already has this value was taken by the same request, which was repeated.
--
-- Each node keeps its own line of waiters, see acquire of a single Redis, and reserves the lock for the
-- first in it. The nodes mostly agree: waiters say for how long they have waited, so the order does not
-- depend on the order of requests, or on what a node has forgotten. If the nodes disagree, no claim gets
-- a majority until the reservations have been taken and withdrawn, or have ended.
local run, longest, nodes = ARGV[5], ARGV[6], ARGV[7]
local weight, waiter, place_ttl, waited = 1, ARGV[8], ARGV[9], ARGV[10]
--#include voting
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  if waiter and waited ~= '0' then
--#include leave_line
  end
else
--#include value
  if reserved and reserved == waiter then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
--#include leave_line
  elseif value ~= ARGV[1] then
    local left = redis.call('PTTL', KEYS[1])
    if left == -1 then return {'foreign', KEYS[1], 'no expiry'} end
    if reserved and left > 900 then -- the clock was set back
      left = 900
      redis.call('PEXPIRE', KEYS[1], left)
    end
--#include format_of
    local format = reserved and 1 or format_of(value)
    if not format then return {'foreign', KEYS[1], 'no lock'} end
    if waiter and format == 1 and left > 0 then
      if not (awaited or reserved) then
        redis.call('SET', KEYS[1], 'awaited|' .. value, 'PX', left)
      end
--#include enter_line
    end
    return {'busy', left, value or ''}
  else
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
end
local fence = math.max((at.last or at.floor) + 1, at.base + 1, tonumber(ARGV[4]))
raise(fence, ARGV[3])
return {'granted', fence, at.last or 0}
