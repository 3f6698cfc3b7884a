-- Lets a process vote, if the reason still applies.
--
-- KEYS: record
-- ARGV: run; maxTtl in ms; floor; the reason; number of nodes
-- Replies: admitted or unchanged
--#include record
if r[1] == ARGV[1] then return {'unchanged'} end
local holds
if ARGV[4] == 'NEW_CLUSTER' then holds = not r[1] and not r[4] end
if ARGV[4] == 'DATA_KEPT' then holds = r[1] and not r[4] end
if ARGV[4] == 'QUARANTINE_OVER' then holds = r[4] == ARGV[1] and tonumber(r[5]) <= now end
if not holds then return {'unchanged'} end
local floor = string.format('%.0f', math.max(tonumber(r[3] or '0'), tonumber(ARGV[3])))
redis.call('HSET', KEYS[1], 'run', ARGV[1], 'longest', ARGV[2], 'floor', floor, 'base', floor,
    'nodes', ARGV[5], 'format', '1')
redis.call('HDEL', KEYS[1], 'pending', 'until')
return {'admitted'}
