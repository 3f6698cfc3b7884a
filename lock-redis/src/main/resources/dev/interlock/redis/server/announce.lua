-- Publishes the release if a waiter asked for it, and ends the script. The message is the id of whom
-- it is for (told), or empty. A user without permission for the channel must not fail half-way,
-- because the lock is gone by then. A reservation stays even so: who cannot hear of it asks often.
if awaited then
  local published = redis.pcall('PUBLISH', KEYS[1], told)
  if type(published) == 'table' then return {'released', published.err} end
end
return 'released'
