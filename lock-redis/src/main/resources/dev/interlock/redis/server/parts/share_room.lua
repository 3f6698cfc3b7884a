-- The part of share_acquire that ends the script with the reply busy if there is no room for the claim.
--#include clock
local used, unexpired = redis.pcall('ZSCORE', KEYS[1], ARGV[1]), false
if type(used) == 'string' then
  used = tonumber(used)
--#include expire
else
  if used and not string.find(used.err, 'WRONGTYPE', 1, true) then return used end
--#include other_use
  used = 0
end
--#include last_hold
if latest < 2147483648 then used = 0 end
local weight, capacity = tonumber(ARGV[4]), tonumber(ARGV[5])
local repeated = redis.call('ZSCORE', KEYS[1], ARGV[2])
if repeated then used = used - weight end
local mine, own, ahead
if waiting then
  local taken, lapses = used, nil
  for i = 1, #waiting do
    local one = waiting[i]
    if one.id == '' then
      if one.weight == weight then mine = one end
    elseif one.id ~= waiter then
      taken = taken + one.weight
      lapses = math.min(lapses or one.ends, one.ends)
    elseif one.weight == weight then
      own = one
    else
      one.ends = 0 -- it wants something else now
    end
  end
  for i = 1, own and 0 or #waiting do
    local other = waiting[i]
    if other.id == '' and other ~= mine and taken + weight + other.weight > capacity
        and (not mine or other.since < mine.since
            or other.since == mine.since and other.weight > weight) then
      if taken + other.weight <= capacity and 2 * other.weight <= capacity then
        other.ends = math.min(other.ends, now + 200)
      end
      ahead = math.min(ahead or other.ends, other.ends)
    end
  end
  if lapses and not own and taken + weight > capacity then
    ahead = math.min(ahead or lapses, lapses)
  end
end
if not repeated and (ahead or used + weight > capacity) then
  if unexpired then return {'busy', 0, ''} end
  local value = line or top[1]
--#include on_primary
  local hold, ends = top[1], latest
  if weight < capacity then
    local first =
        redis.call('ZRANGE', KEYS[1], now, '(+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    hold, ends = first[1], tonumber(first[2] or 0)
  end
  if ends < now then hold, ends = '', ahead end
  if used + weight <= capacity then ends = ahead end
  local place_ttl = tonumber(ARGV[8])
  if waiting or place_ttl > 0 then
    waiting = waiting or {}
    if place_ttl > 0 then
      if not mine then
        mine = {weight = weight, since = now, ends = now, id = ''}
        waiting[#waiting + 1] = mine
      end
      mine.ends = math.max(mine.ends, now + place_ttl)
      if waiter then
--#include enter_line
      end
    end
--#include keep_line
  end
  return {'busy', math.min(ends, ahead or ends) - now, hold}
end
