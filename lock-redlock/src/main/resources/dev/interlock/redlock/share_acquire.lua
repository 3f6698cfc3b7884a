-- Votes for a share of the name if there is room, as share_acquire of a single Redis does, with a fence
-- above all fences that the node may have had for the name.
--
-- KEYS: lock, fence, record
-- ARGV: the first eight of share_acquire of a single Redis; then the client's clock as a fence; run;
--       maxTtl in ms; number of nodes; and from a client that waits, as there, its id at this node, and
--       how long it has waited, in ms
-- Replies: granted, the fence, and the fence before or 0
--          busy, in how many ms to ask again, and the hold that is in the way or an empty text
--          refused, why, and a number
--          foreign, a key, and its content: a head if the name is in use as another kind of lock
local run, longest, nodes = ARGV[10], ARGV[11], ARGV[12]
local waiter, waited = ARGV[13], ARGV[14]
--#include voting
--#include now
--#include share_room
local token = math.max((at.last or at.floor) + 1, at.base + 1, tonumber(ARGV[9]))
--#include share_grant
raise(token, retention)
return {'granted', token, at.last or 0}
