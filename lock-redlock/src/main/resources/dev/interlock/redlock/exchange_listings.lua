-- Reads the processes that clients have lately listed as nodes. If this node is a member, also records
-- the ones that this client lists.
--
-- KEYS: record
-- ARGV: for how many ms listings are kept; then for each node to record its process, how many ms ago
--       it answered, and its address
-- Replies: listings, and for each process that was recorded before its id, how many ms ago it was
--          listed, and its address
--          foreign, a key, and its content
--#include foreign
local fields = redis.pcall('HGETALL', KEYS[1])
if fields.err then return foreign(KEYS[1], fields) end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local listings, listed, member = {'listings'}, {}, false
for i = 1, #fields, 2 do
  member = member or fields[i] == 'run'
  local run = string.match(fields[i], '^node (.+)$')
  if run then
    local at, address = string.match(fields[i + 1], '^(%d+) (.*)$')
    local age = now - tonumber(at)
    if age < 0 or age > tonumber(ARGV[1]) then
      redis.call('HDEL', KEYS[1], fields[i])
    else
      listed[run] = tonumber(at)
      listings[#listings + 1] = run
      listings[#listings + 1] = age
      listings[#listings + 1] = address
    end
  end
end
for i = 2, member and #ARGV or 0, 3 do
  local at = now - tonumber(ARGV[i + 1])
  if not listed[ARGV[i]] or listed[ARGV[i]] < at then
    redis.call('HSET', KEYS[1],
        'node ' .. ARGV[i], string.format('%.0f ', at) .. ARGV[i + 2])
  end
end
return listings
