-- Ends a hold of the claim, even if it was revoked. If the party that has waited longest finds room now,
-- reserves it for the clients of the party that are next in line. Publishes the release: to the next in
-- line, or to all waiters if there may be room for others, too.
--
-- KEYS: lock
-- ARGV: the head; the hold; the claim's id; its weight; the capacity
-- Replies: as release
--#include share_end
local recipient = ''
if waiting then
  for count = 1, awaited and 10 or 0 do
    local weight = first.weight
    if weight > free then break end
--#include next_in_line
    if not next_in_line then break end
--#include reserve_next
    waiting[#waiting + 1] =
        {weight = weight, since = now, ends = now + next_length, id = next_in_line}
    free = free - weight
    first.since, first.ends = now, others_end
    recipient = count == 1 and next_in_line or ''
    if others_end == 0 then break end
  end
  for i = 1, #waiting do
    local one = waiting[i]
    if one.id == '' and one.ends >= now and one.weight <= free then recipient = '' end
  end
--#include keep_line
end
--#include announce
