-- Returns one page of keys of this node. The record is declared, but not read.
--
-- KEYS: record
-- ARGV: the cursor; the pattern; about how many keys to look at
-- Replies: keys, the next cursor, which is 0 after the last keys, and the keys
local found = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
return {'keys', found[1], found[2]}
