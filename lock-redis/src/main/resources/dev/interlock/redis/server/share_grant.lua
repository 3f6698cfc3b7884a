-- The part of share_acquire that writes the hold, with its token, and ends the turn of its party.
-- Says for how long the fence is to be retained.
local ends = now + ARGV[6]
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
