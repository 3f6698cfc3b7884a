-- Takes the one that has waited longest out of the line: sets next_in_line to its id, or to nil. Drops
-- those that are no longer waited for.
local next_in_line, waits_since
local line = KEYS[1] .. ':line'
local places = redis.pcall('HGETALL', line)
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
for i = 1, #places, 2 do
  local since, ends = string.match(places[i + 1], '^(%d+):(%d+)$')
  since, ends = tonumber(since), tonumber(ends)
  if not ends or ends < now then
    redis.pcall('HDEL', line, places[i])
  elseif not waits_since or since < waits_since then
    next_in_line, waits_since = places[i], since
  end
end
if next_in_line then redis.pcall('HDEL', line, next_in_line) end
