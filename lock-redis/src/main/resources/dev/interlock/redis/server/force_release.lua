-- Releases the lock whichever claim has it. The fence stays.
--
-- KEYS: lock
-- Replies: as release
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
