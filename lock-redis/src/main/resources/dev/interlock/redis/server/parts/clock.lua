-- Ends the script if the server's clock cannot be right. In January 1970 times would be mistaken for
-- other scores, see share_acquire. From the year 2248 on, the fencing tokens of clients would exceed
-- 2^53: they are 64 times as high as the numbers here.
if clock[1] - 0 < 2147484 or clock[1] - 0 >= 8796093022 then
  return redis.error_reply('CLOCK shows ' .. clock[1] .. ' s since 1970')
end
