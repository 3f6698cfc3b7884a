-- Gives the waiter a place in the line of the lock, or keeps the place that it has, for place_ttl ms.
-- A waiter that says for how long it has waited gets the place that it would have had then.
--
-- The line is a hash. The key of each place is the id of the waiter. Its value, separated by colons, is
-- the time since which it waits, the time until which its place is kept, the weight that it wants, and
-- how long the next release reserves that weight for it, all times in ms. The weight is 0 once
-- it is reserved, until the waiter acquires it. If the waiter asks again without acquiring, it may have
-- been too slow, and its next reservation lasts longer.
--
-- The line is not declared as a key, see renew. The script never fails because of the line: a waiter
-- without a place asks again.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local line = KEYS[1] .. ':line'
local place = redis.pcall('HMGET', line, waiter)[1]
local since, ends, wanted, length = string.match(place or '', '^(%d+):(%d+):(%d+):(%d+)$')
if not ends or tonumber(ends) < now then
  since, length = now, 300
elseif wanted == '0' then
  since, length = now, math.min(length + 300, 900)
end
if waited then since = now - waited end
if tonumber(since) > now then since = now end -- the clock was set back
place_ttl = tonumber(place_ttl)
if not place and #redis.pcall('HGETALL', line) >= 256 then
--#include next_in_line
end
if place_ttl > 0 and (place or #redis.pcall('HGETALL', line) < 256) then
  redis.pcall('HSET', line, waiter,
      string.format('%.0f:%.0f:%.0f:%.0f', since, now + place_ttl, weight, length))
  local left = redis.pcall('PTTL', line)
  if type(left) == 'number' and left < place_ttl then redis.pcall('PEXPIRE', line, place_ttl) end
end
