-- The turn of the next in line has come, see enter_line. A server without memory refuses HSET.
local place = string.format('0:%.0f:0:%s', next_ends, next_length)
if type(redis.pcall('HSET', line, next_in_line, place)) == 'table' then
  redis.pcall('HDEL', line, next_in_line)
end
