-- Releases the lock if the claim has it, or had it until it was revoked. Publishes the release: to the
-- next in line, for which the lock is then reserved, or to all waiters.
--
-- KEYS: lock
-- ARGV: the claim's value
-- Replies: released, alone, or with the error if the release could not be published
--          not held
--          foreign, a key, and its content
--#include value
if value ~= ARGV[1] and value ~= 'revoked|' .. ARGV[1] then
--#include on_primary
  return {'not held'}
end
local recipient = ''
if awaited then
  local weight = 1
--#include next_in_line
  if next_in_line then
--#include reserve_next
    local kept = redis.pcall('SET', KEYS[1], 'v3|reserved|' .. next_in_line, 'PX', next_length)
    if kept.ok then recipient = next_in_line end
  end
end
if recipient == '' then redis.call('DEL', KEYS[1]) end
--#include announce
