-- Enters the line of those who wait for the lock, or confirms a place in it: for the waiter, which is
-- waited for during its patience. One that says for how long it has waited gets the place that it would
-- have had then.
--
-- The line is a hash: for each waiter its id, since when it waits, until when it is waited for, how
-- much of the name it wants, and for how long the next release reserves that for it, in ms. Nothing is
-- wanted in a place whose turn has come, until the waiter acquires what is reserved. If it asks again
-- instead, it may have been too slow, and its next turn lasts longer.
--
-- The line is not declared as a key, see renew, and nothing fails for it: whoever has no place asks
-- again.
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
patience = tonumber(patience)
if not place and #redis.pcall('HGETALL', line) >= 256 then
--#include next_in_line
end
if patience > 0 and (place or #redis.pcall('HGETALL', line) < 256) then
  redis.pcall('HSET', line, waiter,
      string.format('%.0f:%.0f:%.0f:%.0f', since, now + patience, weight, length))
  local left = redis.pcall('PTTL', line)
  if type(left) == 'number' and left < patience then redis.pcall('PEXPIRE', line, patience) end
end
