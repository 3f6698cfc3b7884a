-- Defines take_back(fence, before, retention). If the node has granted nothing since the vote with this
-- fence, the fence gets its former value again, or is deleted if that is 0. The vote has led to no
-- token. The former fence allows restoring the lock for a holder that lacks it here.
local function take_back(fence, before, retention)
  if redis.pcall('GET', KEYS[2]) ~= fence then return end
  if before == '0' then
    redis.call('DEL', KEYS[2])
  else
    redis.call('SET', KEYS[2], before, 'PX', retention)
  end
end
