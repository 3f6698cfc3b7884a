-- Removes the waiter from the line. Marks the lock with "awaited|" if there are others in the line.
local line = KEYS[1] .. ':line'
redis.pcall('HDEL', line, waiter)
if redis.pcall('TYPE', line).ok == 'hash' then
  redis.call('SET', KEYS[1], 'awaited|' .. ARGV[1], 'PX', ARGV[2])
end
