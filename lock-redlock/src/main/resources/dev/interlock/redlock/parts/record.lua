-- For scripts whose only key is the node's record of itself. Reads the record (r) and the clock in ms
-- (now). Defines quarantine(run, longest), which begins the quarantine of a process and returns the
-- reply.
--#include foreign
local r = redis.pcall('HMGET', KEYS[1],
    'run', 'longest', 'floor', 'pending', 'until', 'nodes', 'format')
if r.err then return foreign(KEYS[1], r) end
if r[7] and r[7] ~= '1' then return {'foreign', KEYS[1], 'format ' .. r[7]} end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local function quarantine(run, longest)
  local most = math.max(tonumber(longest), tonumber(r[2] or '0'))
  redis.call('HSET', KEYS[1], 'pending', run, 'until', string.format('%.0f', now + most))
  return {'quarantined', r[3] or '0', most, r[2] or '', r[6] or ''}
end
