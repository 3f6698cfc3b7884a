-- Takes the lock if it is free, and draws its next token. The token is one more than the last, or the
-- server's time in sixteenths of a millisecond if that is higher. So tokens keep rising when the fence
-- has expired or was lost.
--
-- KEYS: lock, fence
-- ARGV: the claim's value; TTL in ms; retention of the fence in ms; and from a client that waits: its
--       id; how long its place in the line is kept, in ms; any sixth argument if it waits for a
--       message on release
-- Replies: the token, a number
--          busy, the remaining TTL in ms, and the value
--          foreign, a key, and its content
--
-- A client that waits for a message marks the held lock with "awaited|". Without the mark nothing is
-- published on release. The server's list of subscribers could not replace the mark: in a cluster the
-- subscribers may be connected to other nodes.
--
-- Waiting clients are served in the order of arrival: a release reserves the lock for a moment for the
-- next in line. Otherwise a distant client, which needs time for a message and a request, would never
-- be served beside one that releases and acquires again. Clients that do not wait have no place in the
-- line.
--
-- A lock that already has this value was taken by the same request, which was repeated because its
-- reply was lost. The lock is granted again.
local weight, waiter, place_ttl, waited = 1, ARGV[4], ARGV[5], false
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
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  if ARGV[6] then
--#include leave_line
  end
else
--#include value
  if reserved and reserved == waiter then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
--#include leave_line
  elseif reserved then
    if redis.call('PTTL', KEYS[1]) > 900 then redis.call('PEXPIRE', KEYS[1], 900) end -- the clock was set back
    if waiter then
--#include enter_line
    end
    return {'busy', redis.call('PTTL', KEYS[1]), ''}
  elseif value ~= ARGV[1] then
    local left = redis.call('PTTL', KEYS[1])
    if left == -1 then return {'foreign', KEYS[1], 'no expiry'} end
--#include format_of
    local format = format_of(value)
    if not format then return {'foreign', KEYS[1], 'no lock'} end
    if waiter and format == 1 and left > 0 then
      if not awaited then redis.call('SET', KEYS[1], 'awaited|' .. value, 'PX', left) end
--#include enter_line
    end
    return {'busy', left, value}
  else
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
end
local token = clock[1] * 16000 + math.floor(clock[2] * 16 / 1000)
if last and last >= token then token = last + 1 end
redis.call('SET', KEYS[2], string.format('%.0f', token), 'PX', ARGV[3])
return token
