-- Reads the lock: its value, and whether a waiter asked for a message on release ("awaited|").
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' then
--#include foreign
  return foreign(KEYS[1], value)
end
--#include awaited
