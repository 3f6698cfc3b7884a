-- Begins the turn of the next in line, see enter_line. Removes its place if the server refuses HSET for
-- want of memory.
local place = string.format('0:%.0f:0:%s', next_ends, next_length)
if type(redis.pcall('HSET', line, next_in_line, place)) == 'table' then
  redis.pcall('HDEL', line, next_in_line)
end
