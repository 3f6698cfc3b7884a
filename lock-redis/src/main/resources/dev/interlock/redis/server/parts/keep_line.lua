-- Writes the member of waiting weights, see share_acquire. Sets the expiry of the key to the end of
-- the last hold or wait.
local text = 'line'
for i = 1, #waiting do
  local one = waiting[i]
  if one.ends >= now then
    text = text .. '|' .. one.weight .. ':' .. one.since .. ':' .. one.ends
        .. (one.id == '' and '' or ':' .. one.id)
    latest = math.max(latest, one.ends)
  end
end
if text ~= line then
  if line then redis.call('ZREM', KEYS[1], line) end
  if text ~= 'line' then redis.call('ZADD', KEYS[1], '+inf', text) end
end
redis.call('PEXPIREAT', KEYS[1], latest)
