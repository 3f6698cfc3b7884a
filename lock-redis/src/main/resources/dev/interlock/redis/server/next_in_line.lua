-- Finds the one that has waited longest of those in the line that want this weight: sets next_in_line to
-- its id, or to nil; next_ends to until when it is waited for; next_length to for how long to reserve
-- what it wants; and others_end to until when others are waited for, or to 0. Drops those that are no
-- longer waited for.
local next_in_line, next_since, next_length
local next_ends, others_end = 0, 0
local line = KEYS[1] .. ':line'
local places = redis.pcall('HGETALL', line)
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
for i = 1, #places, 2 do
  local since, ends, wants, length = string.match(places[i + 1], '^(%d+):(%d+):(%d+):(%d+)$')
  since, ends = tonumber(since), tonumber(ends)
  if not ends or ends < now then
    redis.pcall('HDEL', line, places[i])
  elseif tonumber(wants) == weight then
    if not next_since or since < next_since then
      others_end = math.max(others_end, next_ends)
      next_in_line, next_since, next_ends, next_length = places[i], since, ends, length
    else
      others_end = math.max(others_end, ends)
    end
  end
end
