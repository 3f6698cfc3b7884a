-- Takes back the vote for a claim that found no majority, and publishes nothing. If nothing has been
-- granted since, the fence gets its value from before: no token has come of it, and a holder that
-- lacks the lock here can still be given it.
--
-- KEYS: lock, fence
-- ARGV: the claim's value; the fence of the vote; the fence before or 0; retention in ms
-- Replies: released
--          not held
--          foreign, a key, and what it holds
--#include value
if value ~= ARGV[1] and value ~= 'revoked|' .. ARGV[1] then return {'not held'} end
redis.call('DEL', KEYS[1])
if redis.pcall('GET', KEYS[2]) == ARGV[2] then
  if ARGV[3] == '0' then
    redis.call('DEL', KEYS[2])
  else
    redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[4])
  end
end
return 'released'
