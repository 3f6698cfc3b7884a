-- Raises the fence to the claim's token, if the claim still has the lock.
--
-- KEYS: lock, fence, record
-- ARGV: the claim's value; token; retention in ms; run; maxTtl in ms; number of nodes
-- Replies: confirmed
--          gone
--          refused, why, and a number
--          foreign, a key, and its content
local run, longest, nodes = ARGV[4], ARGV[5], ARGV[6]
--#include voting
--#include value
if value ~= ARGV[1] then return {'gone'} end
raise(math.max(at.last or at.floor, tonumber(ARGV[2])), ARGV[3])
return {'confirmed'}
