-- For scripts with three keys: the lock, its fence, and the node's record of itself.
--
-- The record is a hash that never expires:
--   run             the process that may vote (Redis's run_id)
--   longest         maxTtl in ms
--   nodes           the number of nodes; version 0.1 did not write it
--   format          the format of the record; 1 if it is missing
--   floor           the highest fence that this node ever had
--   base            the floor when the node was admitted; a lower fence may be stale
--   pending, until  the process in quarantine, and the end of the quarantine in ms
--   node <run>      when a client last listed that process as a node, in ms, and its address
--
-- Expects run, longest and nodes, as the client knows them. Ends the script with the reply if the node
-- does not vote. Sets at: the floor, the base, and the last fence of the name or nil. Defines
-- raise(fence, retention), which sets the fence.
local r = redis.pcall('HMGET', KEYS[3], 'run', 'longest', 'nodes', 'format', 'floor', 'base')
local text = redis.pcall('GET', KEYS[2])
local number = type(text) == 'string' and #text <= 16 and string.find(text, '^%d+$')
    and tonumber(text)
if r[1] ~= run or r[2] ~= longest or (r[3] and r[3] ~= nodes) or (r[4] and r[4] ~= '1')
    or (text and not (number and number <= 9007199254740990)) then
--#include last_token
  if r.err then return foreign(KEYS[3], r) end
  if r[4] and r[4] ~= '1' then return {'foreign', KEYS[3], 'format ' .. r[4]} end
  if r[1] ~= run then
    local confined = redis.call('HMGET', KEYS[3], 'pending', 'until')
    if confined[1] ~= run then return {'refused', r[1] and 'restarted' or 'blank', 0} end
    local now = redis.call('TIME')
    local left = tonumber(confined[2]) - (now[1] * 1000 + math.floor(now[2] / 1000))
    return {'refused', 'quarantined', math.max(left, 0)}
  end
  if r[2] ~= longest then return {'refused', 'longest', tonumber(r[2])} end
  if r[3] and r[3] ~= nodes then return {'refused', 'nodes', tonumber(r[3])} end
  local none, problem = last_token()
  return none or problem
end
local at = {floor = tonumber(r[5]), base = tonumber(r[6]), last = number or nil}
local function raise(fence, retention)
  local raised = string.format('%.0f', fence)
  redis.call('SET', KEYS[2], raised, 'PX', retention)
  if fence > at.floor then redis.call('HSET', KEYS[3], 'floor', raised) end
end
