-- Defers the release: if the claim has the lock, keeps it for a time without the claim. The new value
-- is one that nobody renews or releases. Notifies waiters, because they plan to ask at the end of the
-- TTL.
--
-- KEYS: lock
-- ARGV: the claim's value; the new value; the time in ms; retention of the fence in ms
-- Replies: as release
--
-- The fence is not declared as a key, see renew. Begins with PEXPIRE: a server without memory refuses
-- to begin with SET.
--#include value
if value ~= ARGV[1] and value ~= ARGV[2] then
--#include on_primary
  return {'not held'}
end
if value == ARGV[2] then return 'released' end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('SET', KEYS[1], (awaited and 'awaited|' or '') .. ARGV[2], 'PX', ARGV[3])
redis.pcall('PEXPIRE', KEYS[1] .. ':fence', ARGV[4])
local recipient = ''
--#include announce
