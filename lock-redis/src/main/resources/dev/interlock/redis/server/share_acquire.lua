-- Grants a share of the name if there is room beside those that hold it and beside those that wait.
--
-- KEYS: lock, fence
-- ARGV: the head; the hold; the claim's id; its weight; the capacity; TTL in ms; retention of the
--       fence in ms; for how long the claim's weight is to be waited for, in ms
-- Replies: the token, a number
--          busy, in how many ms to ask again, and the hold that is in the way or an empty text
--          foreign, a key, and what it holds: a head if the name is in use as something else
--
-- The key is a sorted set, which scripts for exclusive locks cannot mistake for one of theirs. Its
-- members by their scores:
--   below 0      for each hold the claim's id; the score is the token, negative
--   to 2^31 - 1  the head: "v2|", the kind, a bar, and the capacity; the score is the sum of weights
--   above        the holds: id, bar, weight, bar, label; the score is when it ends, in ms. "revoked|"
--                may stand before it
--   infinite     the line, while somebody waits: for each weight, since when, and until when
-- A hold ends by its score, whatever the others do. The key expires with the last of them, and the
-- fence is retained for as long after that as after the end of this one.
--
-- Claims of one weight are one party in the line. A claim is refused if another party has waited
-- for longer and could not be granted beside it. A party leaves the line when one of it is granted
-- and another would find no room; if there is room for more, as for readers, 200 ms later. So a
-- writer is passed by no reader that comes later, and each party by each other one only once.
--
-- A hold that is there already was taken by the same request, sent again after its reply was lost.
-- It is granted again.
local last = redis.pcall('GET', KEYS[2])
if last then
--#include last_token
  local problem
  last, problem = last_token()
  if problem then return problem end
end
--#include now
local used = redis.pcall('ZSCORE', KEYS[1], ARGV[1])
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
local mine, ahead
if waiting then
  for i = 1, #waiting do
    if waiting[i].weight == weight then mine = waiting[i] end
  end
  for i = 1, #waiting do
    local other = waiting[i]
    if other ~= mine and used + weight + other.weight > capacity
        and (not mine or other.since < mine.since
            or other.since == mine.since and other.weight > weight) then
      if used + other.weight <= capacity and 2 * other.weight <= capacity then
        other.ends = math.min(other.ends, now + 200)
      end
      ahead = math.min(ahead or other.ends, other.ends)
    end
  end
end
if not repeated and (ahead or used + weight > capacity) then
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
  local reservation = tonumber(ARGV[8])
  if waiting or reservation > 0 then
    waiting = waiting or {}
    if reservation > 0 then
      if not mine then
        mine = {weight = weight, since = now, ends = now}
        waiting[#waiting + 1] = mine
      end
      mine.ends = math.max(mine.ends, now + reservation)
    end
--#include keep_line
  end
  return {'busy', math.min(ends, ahead or ends) - now, hold}
end
local ends = now + ARGV[6]
local token = clock[1] * 16000 + math.floor(clock[2] * 16 / 1000)
if last and last >= token then token = last + 1 end
redis.call('ZADD', KEYS[1], ends, ARGV[2], -token, ARGV[3], used + weight, ARGV[1])
latest = math.max(latest, ends)
local retention = latest - ends + ARGV[7]
if waiting then
  if mine and not repeated then
    local more = used + 2 * weight <= capacity
    mine.ends = more and math.min(mine.ends, now + 200) or 0
  end
--#include keep_line
else
  redis.call('PEXPIREAT', KEYS[1], latest)
end
redis.call('SET', KEYS[2], token, 'PX', retention)
return token
