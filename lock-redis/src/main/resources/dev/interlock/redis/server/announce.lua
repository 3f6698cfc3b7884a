-- Publishes the release if a waiter asked for it, and ends the script. A user without permission for
-- the channel must not fail half-way, because the lock is gone by then.
if awaited then
  local published = redis.pcall('PUBLISH', KEYS[1], '')
  if type(published) == 'table' then return {'released', published.err} end
end
return 'released'
