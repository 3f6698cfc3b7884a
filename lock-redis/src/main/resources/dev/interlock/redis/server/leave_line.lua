-- Leaves the line, and marks the lock if others are in it.
local line = KEYS[1] .. ':line'
redis.pcall('HDEL', line, waiter)
if redis.pcall('TYPE', line).ok == 'hash' then
  redis.call('SET', KEYS[1], 'awaited|' .. ARGV[1], 'PX', ARGV[2])
end
