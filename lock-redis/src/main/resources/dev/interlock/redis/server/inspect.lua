-- Reads the holders of the lock.
--
-- KEYS: lock, fence
-- Replies: free
--          held, the value, the remaining TTL in ms, the server's time in ms, and the last token as
--          text if there is one
--          shared, the head, the server's time in ms, and the members and their scores, see
--          share_acquire
--          foreign, a key, and its content
--
-- Also works on a primary that refuses writes because it has too few replicas: people inspect locks
-- to find out why none is granted.
if redis.call('TYPE', KEYS[1]).ok == 'zset' then
--#include head
--#include now
  local value = head
--#include on_server
  return {'shared', head, now, redis.call('ZRANGE', KEYS[1], '-inf', '(+inf', 'BYSCORE', 'WITHSCORES')}
end
--#include format_of
--#include last_token
--#include value
--#include on_server
if not value then return {'free'} end
local left = redis.call('PTTL', KEYS[1])
if left == -1 then return {'foreign', KEYS[1], 'no expiry'} end
local format = format_of(value)
if not format then return {'foreign', KEYS[1], 'no lock'} end
local last, problem
-- The fence of a lock in a later format has that format, too, and cannot be read.
if format == 1 then last, problem = last_token() end
if problem then return problem end
local now = redis.call('TIME')
local millis = now[1] * 1000 + math.floor(now[2] / 1000)
return {'held', value, left, millis, last and string.format('%.0f', last)}
