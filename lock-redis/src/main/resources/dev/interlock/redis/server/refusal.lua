-- Sets refused: the answer to a write that changes nothing.
local refused
if redis.call('TYPE', KEYS[1]).ok ~= 'none' then
  refused = redis.pcall('SET', KEYS[1], '', 'NX')
else
  refused = redis.pcall('DEL', KEYS[1])
end
