-- Stores the number of nodes in a record that lacks it: that of a blank node, or of version 0.1.
--
-- KEYS: record
-- ARGV: run; maxTtl in ms; number of nodes
-- Replies: counted or unchanged
--#include record
if r[6] then return {'unchanged'} end
redis.call('HSET', KEYS[1], 'nodes', ARGV[3])
return {'counted'}
