-- Extends the TTL if the claim still has the lock, and the retention of the fence.
--
-- KEYS: lock
-- ARGV: the claim's value; TTL in ms; retention of the fence in ms
-- Replies: renewed
--          gone, and absent, revoked or taken
--          foreign, a key, and its content
--
-- The fence is not declared as a key. While a cluster moves the slot, it refuses a request that
-- declares two keys if it finds only one of them. The fence must not make a renewal fail.
--#include value
if value == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  redis.pcall('PEXPIRE', KEYS[1] .. ':fence', ARGV[3])
  return {'renewed'}
end
--#include on_primary
if not value then return {'gone', 'absent'} end
if value == 'revoked|' .. ARGV[1] then return {'gone', 'revoked'} end
return {'gone', 'taken'}
