-- Makes a write that changes nothing. Sets refused: the reply, which is a table if the server refused.
local refused
if redis.call('TYPE', KEYS[1]).ok ~= 'none' then
  refused = redis.pcall('SET', KEYS[1], '', 'NX')
else
  refused = redis.pcall('DEL', KEYS[1])
end
