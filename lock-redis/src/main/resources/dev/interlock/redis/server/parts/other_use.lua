-- For a key without the claim's head. Ends the script if the name is in use as another kind of lock,
-- held or waited for. A sorted set expires as soon as nobody holds the name or waits.
local value = redis.call('TYPE', KEYS[1]).ok
if value ~= 'none' then
--#include on_primary
  if value == 'zset' then
--#include head
    return {'foreign', KEYS[1], head}
  elseif value == 'string' then
    value = redis.call('GET', KEYS[1])
    local awaited
--#include awaited
    if string.sub(value, 1, 12) == 'v3|reserved|' then return {'foreign', KEYS[1], 'exclusive'} end
--#include format_of
    if redis.call('PTTL', KEYS[1]) == -1 then return {'foreign', KEYS[1], 'no expiry'} end
    local format = format_of(value)
    if format == 1 then return {'foreign', KEYS[1], 'exclusive'} end
    return {'foreign', KEYS[1], format and 'format ' .. format or 'no lock'}
  else
    return {'foreign', KEYS[1], value}
  end
end
