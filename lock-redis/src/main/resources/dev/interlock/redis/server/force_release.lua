-- Releases the lock, whichever claims have it. The fence stays.
--
-- KEYS: lock
-- Replies: as release
local recipient = ''
if redis.call('TYPE', KEYS[1]).ok == 'zset' then
--#include held
  local awaited = #redis.call('ZRANGE', KEYS[1], '+inf', '+inf', 'BYSCORE') > 0
  redis.call('DEL', KEYS[1])
--#include announce
end
--#include format_of
--#include value
if not value then
--#include on_primary
  return {'not held'}
end
local format = format_of(value)
if format ~= 1 then
  return {'foreign', KEYS[1], format and 'format ' .. format or 'no lock'}
end
redis.call('DEL', KEYS[1])
--#include announce
