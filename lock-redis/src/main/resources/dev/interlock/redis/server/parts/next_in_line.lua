-- Finds the client in the line that has waited longest for this weight. Sets next_in_line: its id, or
-- nil; next_ends: the time until which its place is kept; next_length: how long to reserve the weight
-- for it, in ms; others_end: the time until which the places of others are kept, or 0. Removes places
-- that are not kept any more.
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
