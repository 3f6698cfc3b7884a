-- Defines foreign(key, problem): the reply for a key that could not be read as the type it should
-- have. Errors of another kind, such as a missing permission, are passed on. Of a name that several
-- hold, it has the head, see share_acquire; "free" if they have all ended.
local function foreign(key, problem)
  if not string.find(problem.err, 'WRONGTYPE', 1, true) then return problem end
  local kind = redis.call('TYPE', key).ok
  if kind == 'zset' and key == KEYS[1] then
    local value = kind
--#include on_primary
    local head = redis.pcall('ZRANGE', key, 0, 2147483647, 'BYSCORE', 'LIMIT', 0, 1)[1]
    local format = head and string.match(head, '^v(%d+)|')
    if format and format ~= '2' then return {'foreign', key, 'format ' .. format} end
    if format then
--#include now
      local held = redis.call('ZRANGE', key, now, '(+inf', 'BYSCORE', 'LIMIT', 0, 1)
      return {'foreign', key, #held > 0 and head or 'free'}
    end
  end
  return {'foreign', key, kind}
end
