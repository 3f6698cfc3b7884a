-- Publishes the release if a waiter asked for a message, and ends the script. The message is the id of
-- the client for which the lock is reserved (recipient), or empty. The script must not fail if the user
-- may not publish, because the lock is released by then. A reservation stays valid even then: a client
-- that gets no message polls often.
if awaited then
  local published = redis.pcall('PUBLISH', KEYS[1], recipient)
  if type(published) == 'table' then return {'released', published.err} end
end
return 'released'
