-- Defines foreign(key, problem), which returns the reply for a key that has another type than expected.
-- Returns other errors, such as a missing permission, as they are. For a name that several claims hold
-- or wait for, the reply contains the head, see share_acquire.
local function foreign(key, problem)
  if not string.find(problem.err, 'WRONGTYPE', 1, true) then return problem end
  local kind = redis.call('TYPE', key).ok
  if key ~= KEYS[1] then return {'foreign', key, kind} end
  local value = kind
--#include on_primary
  local head = kind == 'zset' and
      redis.pcall('ZRANGE', key, 0, 2147483647, 'BYSCORE', 'LIMIT', 0, 1)[1]
  local format = head and string.match(head, '^v(%d+)|')
  if not format then return {'foreign', key, kind} end
  return {'foreign', key, format == '2' and head or 'format ' .. format}
end
