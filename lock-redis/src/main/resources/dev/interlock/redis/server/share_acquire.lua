-- Grants a share of the name if there is room beside those that hold it and beside those that wait.
--
-- KEYS: lock, fence
-- ARGV: the head; the hold; the claim's id; its weight; the capacity; TTL in ms; retention of the
--       fence in ms; for how long the claim's weight is to be waited for, in ms; and from a client that
--       waits its id, unless claims of its weight always find room beside each other
-- Replies: the token, a number
--          busy, in how many ms to ask again, and the hold that is in the way or an empty text;
--          after 0 ms and without a hold there may be room, and the rest of those that have ended
--          is to be dropped first
--          foreign, a key, and what it holds: a head if the name is in use as something else
--
-- The key is a sorted set, which scripts for exclusive locks cannot mistake for one of theirs. Its
-- members by their scores:
--   below 0      for each hold the claim's id; the score is the token, negative
--   to 2^31 - 1  the head: "v2|", the kind, a bar, and the capacity; the score is the sum of weights
--   above        the holds: id, bar, weight, bar, label; the score is when it ends, in ms. "revoked|"
--                may stand before it
--   infinite     while somebody waits: for each weight, since when, and until when; the same for what
--                is reserved, and the id of the client that it is reserved for
-- A hold ends by its score, whatever the others do. The key expires with the last of them, and the
-- fence is retained for as long after that as after the end of this one.
--
-- Claims of one weight are one party in the line. A claim is refused if another party has waited
-- for longer and could not be granted beside it. A party leaves the line when one of it is granted
-- and another would find no room; if there is room for more, as for readers, 200 ms later. So a
-- writer is passed by no reader that comes later, and each party by each other one only once.
--
-- Those of one party are in the line that enter_line describes, but for readers, who need none. Who is
-- next in line gets what is freed: it is reserved, counts as taken for all others, and is no hold. If
-- more of the party wait, it has its next turn after all parties that wait now.
--
-- A hold that is there already was taken by the same request, sent again after its reply was lost.
-- It is granted again.
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
