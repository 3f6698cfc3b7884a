-- Reads the lock: its value, and whether somebody waits for its release ("awaited|"). The claim's own
-- value, which is the first argument of most scripts, need not be examined. A lock that nobody holds
-- may be reserved for a waiter ("v3|reserved|" and its id); earlier versions take it for held.
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
