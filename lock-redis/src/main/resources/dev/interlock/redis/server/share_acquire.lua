-- Grants a share of the name if there is room for it beside the holds, and beside the weights that have
-- waited for longer.
--
-- KEYS: lock, fence
-- ARGV: the head; the hold; the claim's id; its weight; the capacity; TTL in ms; retention of the
--       fence in ms; how long the claim's weight counts as waiting, in ms; and from a client that
--       waits its id, unless claims of its weight always find room beside each other
-- Replies: the token, a number
--          busy, in how many ms to ask again, and the hold that is in the way, or an empty text.
--          0 ms and an empty text ask to repeat the request at once: more holds that have ended must
--          be removed first
--          foreign, a key, and its content: a head if the name is in use as another kind of lock
--
-- The key is a sorted set, which scripts for exclusive locks cannot mistake for one of theirs. Its
-- members by their scores:
--   below 0      for each hold the claim's id; the score is the token, negative
--   to 2^31 - 1  the head: "v2|", the kind, a bar, and the capacity; the score is the sum of weights
--   above        the holds: id, bar, weight, bar, label; the score is the end in ms. "revoked|" may
--                come first
--   infinite     one member while clients wait: "line", and for each weight that waits or is reserved
--                a bar, the weight, since when, and until when; for a reservation also the id of the
--                client that it is for
-- Each hold ends at its own score. The key expires with the last of them, and the fence is retained for
-- as long after that as after the end of this hold.
--
-- The claims of one weight form one party. A claim is refused if another party has waited for longer
-- and could not be granted beside it. The party loses this precedence when one of its claims is granted
-- and there is no room for another; if there is room, as for readers, 200 ms later. So no later reader
-- overtakes a writer, and each party overtakes another at most once.
--
-- The clients of one party are in the line that enter_line describes, except readers, which need none.
-- A release reserves the freed weight for the next in line. A reservation counts as taken for all
-- others, but is not a hold. If more clients of the party wait, the party comes after all parties that
-- wait now.
--
-- A hold that is there already was taken by the same request, which was repeated because its reply was
-- lost. It is granted again.
local waiter, waited = ARGV[9], false
local last = redis.pcall('GET', KEYS[2])
if last then
--#include last_token
  local problem
  last, problem = last_token()
  if problem then return problem end
end
--#include now
--#include share_room
local token = clock[1] * 16000 + math.floor(clock[2] * 16 / 1000)
if last and last >= token then token = last + 1 end
--#include share_grant
redis.call('SET', KEYS[2], token, 'PX', retention)
return token
