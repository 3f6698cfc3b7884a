-- Withdraws the vote for a claim that found no majority. Publishes nothing.
--
-- KEYS: lock, fence
-- ARGV: the head; the hold; the claim's id; its weight; the capacity; the fence of the vote; the
--       fence before or 0; retention in ms
-- Replies: as withdraw
--#include take_back
if type(redis.pcall('ZSCORE', KEYS[1], ARGV[2])) == 'string' then
  take_back(ARGV[6], ARGV[7], ARGV[8])
end
--#include share_end
if waiting then
--#include keep_line
end
return 'released'
