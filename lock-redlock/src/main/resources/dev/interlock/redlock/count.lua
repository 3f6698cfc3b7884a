-- Stores the number of nodes on one that does not know it yet: a blank node, or one of version 0.1.
--
-- KEYS: record
-- ARGV: run; longest TTL; number of nodes
-- Replies: counted or unchanged
--#include record
if r[6] then return {'unchanged'} end
redis.call('HSET', KEYS[1], 'nodes', ARGV[3])
return {'counted'}
