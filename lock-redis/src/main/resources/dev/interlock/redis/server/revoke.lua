-- Prevents renewal by the holder, and keeps the lock for the rest of its TTL.
--
-- KEYS: lock
-- Replies: revoked
--          not held
--          foreign, a key, and what it holds
--#include format_of
--#include value
if not value then
--#include on_primary
  return {'not held'}
end
local left = redis.call('PTTL', KEYS[1])
if left == -1 then return {'foreign', KEYS[1], 'no expiry'} end
local format = format_of(value)
if format ~= 1 then
  return {'foreign', KEYS[1], format and 'format ' .. format or 'no lock'}
end
if string.sub(value, 1, 8) ~= 'revoked|' then
  value = (awaited and 'awaited|' or '') .. 'revoked|' .. value
  redis.call('SET', KEYS[1], value, 'PX', math.max(left, 1))
end
return {'revoked'}
