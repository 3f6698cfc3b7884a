-- Ends a hold of the claim, revoked or not, and publishes that if the party that has waited longest
-- finds room now.
--
-- KEYS: lock
-- ARGV: the head; the hold; the claim's id; its weight; the capacity
-- Replies: as release
--#include share_end
local told = ''
--#include announce
