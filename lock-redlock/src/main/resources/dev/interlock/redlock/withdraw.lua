-- Withdraws the vote for a claim that found no majority. Publishes nothing.
--
-- KEYS: lock, fence
-- ARGV: the claim's value; the fence of the vote; the fence before or 0; retention in ms
-- Replies: released
--          not held
--          foreign, a key, and its content
--#include value
if value ~= ARGV[1] and value ~= 'revoked|' .. ARGV[1] then return {'not held'} end
redis.call('DEL', KEYS[1])
--#include take_back
take_back(ARGV[2], ARGV[3], ARGV[4])
return 'released'
