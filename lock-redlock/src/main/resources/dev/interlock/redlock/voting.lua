-- For scripts with three keys: the lock, its fence, and the node's record of itself.
--
-- The record is a hash that never expires:
--   run             the process that may vote (Redis's run_id)
--   longest         the longest TTL in ms that a client may ask for
--   nodes           of how many nodes a majority is counted; version 0.1 did not write it
--   format          the format of the record; without it, 1
--   floor           the highest fence that this node ever had
--   base            the floor when the node was admitted; a lower fence may be stale
--   pending, until  the process in quarantine, and the end of it in ms
--   node <run>      when a client last listed that process as a node, in ms, and its address
--
-- Defines refused(run, longest, nodes): nil if the node votes, or else the reply; reads the floor,
-- the base and the last fence of the name. Defines raise(fence, retention).
--#include format_of
--#include last_token
local at = {}
local function refused(run, longest, nodes)
  local r = redis.pcall('HMGET', KEYS[3],
      'run', 'longest', 'floor', 'base', 'pending', 'until', 'nodes', 'format')
  if r.err then return foreign(KEYS[3], r) end
  if r[8] and r[8] ~= '1' then return {'foreign', KEYS[3], 'format ' .. r[8]} end
  if r[1] ~= run then
    if r[5] ~= run then return {'refused', r[1] and 'restarted' or 'blank', 0} end
    local now = redis.call('TIME')
    local left = tonumber(r[6]) - (now[1] * 1000 + math.floor(now[2] / 1000))
    return {'refused', 'quarantined', math.max(left, 0)}
  end
  if r[2] ~= longest then return {'refused', 'longest', tonumber(r[2])} end
  if r[7] and r[7] ~= nodes then return {'refused', 'nodes', tonumber(r[7])} end
  at.floor = tonumber(r[3])
  at.base = tonumber(r[4])
  local problem
  at.last, problem = last_token()
  return problem
end
local function raise(fence, retention)
  local text = string.format('%.0f', fence)
  redis.call('SET', KEYS[2], text, 'PX', retention)
  if fence > at.floor then redis.call('HSET', KEYS[3], 'floor', text) end
end
