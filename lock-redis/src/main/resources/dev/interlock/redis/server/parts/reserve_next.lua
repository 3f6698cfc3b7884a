-- Marks the place of the next in line as one with a reservation, see enter_line. Removes the place if
-- the server refuses HSET for want of memory.
local place = string.format('0:%.0f:0:%s', next_ends, next_length)
if type(redis.pcall('HSET', line, next_in_line, place)) == 'table' then
  redis.pcall('HDEL', line, next_in_line)
end
