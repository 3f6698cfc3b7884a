-- Prevents renewal by the holder, and keeps the lock for the rest of its TTL. If several claims hold the
-- name, its whole capacity is taken until the last hold ends.
--
-- KEYS: lock
-- Replies: revoked
--          not held
--          foreign, a key, and its content
--
-- Begins with PEXPIRE: a server without memory refuses to begin with ZADD or SET.
if redis.call('TYPE', KEYS[1]).ok == 'zset' then
--#include held
  local rest = redis.call('PTTL', KEYS[1])
  if rest == -1 then return {'foreign', KEYS[1], 'no expiry'} end
  redis.call('PEXPIRE', KEYS[1], math.max(rest, 1))
  redis.call('ZADD', KEYS[1], string.match(head, '%d+$'), head)
  local holds = redis.call('ZRANGE', KEYS[1], 2147483648, '(+inf', 'BYSCORE', 'WITHSCORES')
  local revoked, former = {}, {}
  for i = 1, #holds, 2 do
    if string.sub(holds[i], 1, 8) ~= 'revoked|' then
      revoked[#revoked + 1] = holds[i + 1]
      revoked[#revoked + 1] = 'revoked|' .. holds[i]
      former[#former + 1] = holds[i]
    end
    if #former == 1000 or (#former > 0 and i == #holds - 1) then
      redis.call('ZADD', KEYS[1], unpack(revoked))
      redis.call('ZREM', KEYS[1], unpack(former))
      revoked, former = {}, {}
    end
  end
  return {'revoked'}
end
--#include format_of
--#include value
if not value then
--#include on_primary
  return {'not held'}
end
local left = redis.call('PTTL', KEYS[1])
if left == -1 then return {'foreign', KEYS[1], 'no expiry'} end
local format = format_of(value)
if format ~= 1 then
  return {'foreign', KEYS[1], format and 'format ' .. format or 'no lock'}
end
if string.sub(value, 1, 8) ~= 'revoked|' then
  value = (awaited and 'awaited|' or '') .. 'revoked|' .. value
  redis.call('PEXPIRE', KEYS[1], math.max(left, 1))
  redis.call('SET', KEYS[1], value, 'PX', math.max(left, 1))
end
return {'revoked'}
