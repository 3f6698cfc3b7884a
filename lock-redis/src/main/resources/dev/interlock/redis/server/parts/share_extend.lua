-- The part of share_renew that extends a hold and the retention of the fence. Sets held: whether the
-- claim still has the hold. PEXPIREAT is the first write, because a server that is out of memory
-- refuses a script whose first write is ZADD.
local ends = redis.pcall('ZSCORE', KEYS[1], ARGV[1])
--#include now
local held = type(ends) == 'string' and tonumber(ends) >= now
local retention
if held then
--#include clock
--#include last_hold
  for i = 1, waiting and #waiting or 0 do latest = math.max(latest, waiting[i].ends) end
  ends = now + ARGV[2]
  latest = math.max(latest, ends)
  retention = latest - ends + ARGV[3]
  redis.call('PEXPIREAT', KEYS[1], latest)
  redis.call('ZADD', KEYS[1], 'XX', ends, ARGV[1])
  redis.pcall('PEXPIRE', KEYS[1] .. ':fence', retention)
end
