-- Begins the quarantine of a process.
--
-- KEYS: record
-- ARGV: run; maxTtl in ms
-- Replies: as examine, or unchanged
--#include record
if r[1] == ARGV[1] or r[4] == ARGV[1] then return {'unchanged'} end
return quarantine(ARGV[1], ARGV[2])
