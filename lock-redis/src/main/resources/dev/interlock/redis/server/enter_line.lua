-- Enters the line of those who wait for the lock, or confirms a place in it: for the waiter, who is to
-- be waited for during its reservation. Whoever says for how long it has waited gets the place that it
-- would have had then.
--
-- The line is a hash: for each waiter its id, since when it waits, until when it is waited for, and
-- how much of the name it wants. It is not declared as a key, see renew, and nothing fails for it:
-- whoever has no place asks again.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local line = KEYS[1] .. ':line'
local place = redis.pcall('HMGET', line, waiter)[1]
local since = waited and now - waited or place and string.match(place, '^%d+') or now
if tonumber(since) > now then since = now end -- the clock was set back
if tonumber(reservation) > 0 and (place or #redis.pcall('HGETALL', line) < 256) then
  redis.pcall('HSET', line, waiter, string.format('%.0f:%.0f:%.0f', since, now + reservation, weight))
  local left = redis.pcall('PTTL', line)
  if type(left) == 'number' and left < tonumber(reservation) then
    redis.pcall('PEXPIRE', line, reservation)
  end
end
