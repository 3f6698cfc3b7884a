-- Ends the script if nobody holds the name, even if clients wait for it.
--#include head
--#include now
if #redis.call('ZRANGE', KEYS[1], now, '(+inf', 'BYSCORE', 'LIMIT', 0, 1) == 0 then
  local value = head
--#include on_primary
  return {'not held'}
end
