-- The part of share_release that ends the hold. Ends the script if there was no hold, or if the name is
-- free and nobody waits. Sets first: the party that has waited longest, see share_acquire; free: the
-- free weight; awaited: whether that party must be notified. The caller must include keep_line
-- afterwards.
--#include now
local used, unexpired = redis.pcall('ZSCORE', KEYS[1], ARGV[1]), false
local hold, taken, ends = ARGV[2], ARGV[4], false
if type(used) == 'string' then
  used = tonumber(used)
--#include expire
  ends = redis.call('ZSCORE', KEYS[1], hold)
  if not ends then
    hold, taken = 'revoked|' .. hold, 0
    ends = redis.call('ZSCORE', KEYS[1], hold)
  end
elseif used then
--#include foreign
  return foreign(KEYS[1], used)
end
if not ends then
  local value = redis.call('TYPE', KEYS[1]).ok ~= 'none'
--#include on_primary
  return {'not held'}
end
redis.call('ZREM', KEYS[1], hold, ARGV[3])
used = used - taken
--#include last_hold
if latest < 2147483648 then used = 0 end
if used == 0 and not (waiting and #waiting > 0) then
  redis.call('DEL', KEYS[1])
  return 'released'
end
redis.call('ZADD', KEYS[1], used, ARGV[1])
local awaited, first = false, nil
local free = ARGV[5] - used
if waiting then
  for i = 1, #waiting do
    local one = waiting[i]
    if one.id ~= '' then
      free = free - one.weight
    elseif not first or one.since < first.since
        or one.since == first.since and one.weight > first.weight then
      first = one
    end
  end
  awaited = first and (unexpired or first.weight <= free)
elseif tonumber(ends) > latest then
  redis.call('PEXPIREAT', KEYS[1], latest)
end
