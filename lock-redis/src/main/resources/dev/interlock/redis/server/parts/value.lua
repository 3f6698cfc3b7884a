-- Reads the lock. Sets value; awaited: whether a waiter asked for a message on release; reserved: the
-- id of the waiter for which the lock is reserved ("v3|reserved|"), while nobody holds it. Earlier
-- versions take a reserved lock for held. The claim's own value, the first argument of most scripts,
-- needs no check.
local value, awaited, reserved = redis.pcall('GET', KEYS[1]), false, false
if value ~= ARGV[1] then
  if type(value) == 'table' then
--#include foreign
    return foreign(KEYS[1], value)
  end
--#include awaited
  if value and string.sub(value, 1, 12) == 'v3|reserved|' then
    reserved, value = string.sub(value, 13), false
  end
end
