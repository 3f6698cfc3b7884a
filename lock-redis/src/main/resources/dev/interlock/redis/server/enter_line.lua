-- Enters the line of those who wait for the lock, or confirms a place in it.
--
-- The line is a hash: for each waiter its id, since when it waits, and until when it is waited for. It
-- is not declared as a key, see renew, and nothing fails for it: whoever has no place asks again.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local line = KEYS[1] .. ':line'
local place = redis.pcall('HMGET', line, ARGV[4])[1]
local since = place and string.match(place, '^%d+') or now
if tonumber(since) > now then since = now end -- the clock was set back
if tonumber(ARGV[5]) > 0 and (place or #redis.pcall('HGETALL', line) < 256) then
  redis.pcall('HSET', line, ARGV[4], string.format('%.0f:%.0f', since, now + ARGV[5]))
  local left = redis.pcall('PTTL', line)
  if type(left) == 'number' and left < tonumber(ARGV[5]) then
    redis.pcall('PEXPIRE', line, ARGV[5])
  end
end
