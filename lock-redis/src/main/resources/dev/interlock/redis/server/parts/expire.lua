-- Removes the holds that have ended, and subtracts their weights from the sum. A revoked hold has no
-- weight in the sum, see revoke. Removes at most 1000 holds, because the server does nothing else
-- meanwhile. Sets unexpired: whether there may be more.
local ended = redis.call('ZRANGE', KEYS[1], 2147483648, '(' .. now, 'BYSCORE', 'LIMIT', 0, 1000)
unexpired = #ended == 1000
if #ended > 0 then
  local members = {}
  for i = 1, #ended do
    local revoked = string.sub(ended[i], 1, 8) == 'revoked|'
    local id, taken = string.match(ended[i], '^([^|]+)|(%d+)|', revoked and 9 or 1)
    members[2 * i - 1] = ended[i]
    members[2 * i] = id
    if not revoked then used = used - taken end
  end
  redis.call('ZREM', KEYS[1], unpack(members))
  if #redis.call('ZRANGE', KEYS[1], '-inf', '(0', 'BYSCORE', 'LIMIT', 0, 1) == 0 then used = 0 end
  redis.call('ZADD', KEYS[1], used, ARGV[1])
end
