-- Reads the holders of the lock. A node that does not vote refuses this, too: it may have forgotten the lock.
--
-- KEYS: lock, fence, record
-- ARGV: run; maxTtl in ms; number of nodes
-- Replies: free
--          held, the value, the remaining TTL in ms, and the fence as text if there is one
--          shared, as inspect of a single Redis
--          refused, why, and a number
--          foreign, a key, and its content
local run, longest, nodes = ARGV[1], ARGV[2], ARGV[3]
--#include voting
if redis.call('TYPE', KEYS[1]).ok == 'zset' then
--#include head
--#include now
  return {'shared', head, now, redis.call('ZRANGE', KEYS[1], '-inf', '(+inf', 'BYSCORE', 'WITHSCORES')}
end
--#include value
if not value then return {'free'} end
local left = redis.call('PTTL', KEYS[1])
if left == -1 then return {'foreign', KEYS[1], 'no expiry'} end
--#include format_of
if not format_of(value) then return {'foreign', KEYS[1], 'no lock'} end
return {'held', value, left, at.last and string.format('%.0f', at.last) or nil}
