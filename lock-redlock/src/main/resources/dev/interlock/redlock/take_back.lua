-- Defines take_back(fence, before, retention): if nothing has been granted since the vote with that
-- fence, the fence gets its value from before, or none if that is 0. No token has come of the vote,
-- and a holder that lacks the lock here can still be given it.
local function take_back(fence, before, retention)
  if redis.pcall('GET', KEYS[2]) ~= fence then return end
  if before == '0' then
    redis.call('DEL', KEYS[2])
  else
    redis.call('SET', KEYS[2], before, 'PX', retention)
  end
end
