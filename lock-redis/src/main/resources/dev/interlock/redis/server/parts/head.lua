-- Reads the head of the sorted set, see share_acquire. Ends the script if the set is not one of ours.
local head = redis.call('ZRANGE', KEYS[1], 0, 2147483647, 'BYSCORE', 'LIMIT', 0, 1)[1]
local format = head and string.match(head, '^v(%d+)|')
if format ~= '2' then
  return {'foreign', KEYS[1], format and 'format ' .. format or 'zset'}
end
