-- Reads the lock: its value, and whether a waiter asked for a message on release ("awaited|"). The
-- claim's own value, which is the first argument of most scripts, need not be examined.
local value, awaited = redis.pcall('GET', KEYS[1]), false
if value ~= ARGV[1] then
  if type(value) == 'table' then
--#include foreign
    return foreign(KEYS[1], value)
  end
--#include awaited
end
