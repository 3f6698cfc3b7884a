-- Raises the fence to the claim's token, if the claim still has its share, and this node has not given
-- the token to another claim. Since its vote, the node may have voted for other claims that hold the
-- name together with this one. A node gives each number once, and two majorities have a node in common,
-- so no two claims get the same token.
--
-- KEYS: lock, fence, record
-- ARGV: the hold; the claim's id; token; retention in ms; run; maxTtl in ms; number of nodes
-- Replies: confirmed
--          passed: the fence is higher
--          gone
--          refused, why, and a number
--          foreign, a key, and its content
local run, longest, nodes = ARGV[5], ARGV[6], ARGV[7]
--#include voting
--#include now
local ends = redis.pcall('ZSCORE', KEYS[1], ARGV[1])
if type(ends) == 'table' and not string.find(ends.err, 'WRONGTYPE', 1, true) then return ends end
if type(ends) ~= 'string' or tonumber(ends) < now then return {'gone'} end
local token = tonumber(ARGV[3])
if (at.last or at.floor) >= token then
  local mine = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[2])) == -token
  return {mine and 'confirmed' or 'passed'}
end
redis.call('ZADD', KEYS[1], 'XX', -token, ARGV[2])
raise(token, ARGV[4])
return {'confirmed'}
