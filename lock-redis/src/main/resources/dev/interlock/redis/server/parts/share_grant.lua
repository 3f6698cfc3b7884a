-- The part of share_acquire that writes the hold and its token, and ends the precedence of its party.
-- Sets retention: how long the fence is kept, in ms.
local ends = now + ARGV[6]
redis.call('ZADD', KEYS[1], ends, ARGV[2], -token, ARGV[3], used + weight, ARGV[1])
latest = math.max(latest, ends)
local retention = latest - ends + ARGV[7]
if waiter then redis.pcall('HDEL', KEYS[1] .. ':line', waiter) end
if waiting then
  if own then
    own.ends = 0
  elseif mine and not repeated then
    local more = used + 2 * weight <= capacity
    mine.ends = more and math.min(mine.ends, now + 200) or 0
    if waiter then
--#include next_in_line
      if next_in_line then mine.since, mine.ends = now, math.max(next_ends, others_end) end
    end
  end
--#include keep_line
else
  redis.call('PEXPIREAT', KEYS[1], latest)
end
