-- Takes the lock if it is free, and its next token: one more than the last, or the server's time in
-- sixteenths of a millisecond if that is higher. So tokens keep rising when the fence key has
-- expired or was lost.
--
-- KEYS: lock, fence
-- ARGV: the claim's value; TTL in ms; retention of the fence in ms; any fourth from a client that
--       waits for a message on release
-- Replies: the token, a number
--          busy, the remaining TTL in ms, and the value
--          foreign, a key, and what it holds
--
-- A fourth argument marks a lock that is held, for as long as it is held. Nothing is published for a
-- lock that has no mark. The server's list of subscribers cannot replace the mark: in a cluster they
-- may be connected to other nodes.
--
-- A lock that already has this value was taken by the same request, sent again after its reply was
-- lost. It is granted again.
local fence = redis.pcall('GET', KEYS[2])
local last = type(fence) == 'string' and #fence <= 16 and string.find(fence, '^%d+$')
    and tonumber(fence)
if fence and not (last and last <= 9007199254740990) then
--#include last_token
  local problem
  last, problem = last_token()
  if problem then return problem end
end
local clock = redis.call('TIME')
--#include clock
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
--#include value
  if value ~= ARGV[1] then
    local left = redis.call('PTTL', KEYS[1])
    if left == -1 then return {'foreign', KEYS[1], 'no expiry'} end
--#include format_of
    local format = format_of(value)
    if not format then return {'foreign', KEYS[1], 'no lock'} end
    if ARGV[4] and format == 1 and not awaited and left > 0 then
      redis.call('SET', KEYS[1], 'awaited|' .. value, 'PX', left)
    end
    return {'busy', left, value}
  end
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
local token = clock[1] * 16000 + math.floor(clock[2] * 16 / 1000)
if last and last >= token then token = last + 1 end
redis.call('SET', KEYS[2], string.format('%.0f', token), 'PX', ARGV[3])
return token
