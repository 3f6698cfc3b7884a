-- Reads the lock: its value, and whether somebody waits for its release ("awaited|"). The claim's own
-- value, which is the first argument of most scripts, need not be examined. A lock that nobody holds
-- may be reserved for a waiter ("reserved|" and its id).
local value, awaited, reserved = redis.pcall('GET', KEYS[1]), false, false
if value ~= ARGV[1] then
  if type(value) == 'table' then
--#include foreign
    return foreign(KEYS[1], value)
  end
--#include awaited
  if value and string.sub(value, 1, 9) == 'reserved|' then
    reserved, value = string.sub(value, 10), false
  end
end
