-- Releases the lock if the claim has it, or had it until it was revoked, and publishes that.
--
-- KEYS: lock
-- ARGV: the claim's value
-- Replies: released, alone, or with the error if it could not be published
--          not held
--          foreign, a key, and what it holds
--#include value
if value ~= ARGV[1] and value ~= 'revoked|' .. ARGV[1] then
--#include on_primary
  return {'not held'}
end
redis.call('DEL', KEYS[1])
--#include announce
