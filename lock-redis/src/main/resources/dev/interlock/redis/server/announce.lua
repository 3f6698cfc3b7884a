-- Publishes the release if a waiter asked for it, and ends the script. The message is the id of whom
-- it is for (told), or empty. A user without permission for the channel must not fail half-way,
-- because the lock is gone by then; a reservation is dropped then, if the key holds nothing else
-- (alone), as nobody hears of it.
if awaited then
  local published = redis.pcall('PUBLISH', KEYS[1], told)
  if type(published) == 'table' then
    if alone and told ~= '' then redis.call('DEL', KEYS[1]) end
    return {'released', published.err}
  end
end
return 'released'
