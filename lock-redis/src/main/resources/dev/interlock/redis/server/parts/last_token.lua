-- Defines last_token(), which returns the last token of the name, or nil. If the fence has foreign
-- content, it returns nil and the reply.
--#include foreign
local function last_token()
  local last = redis.pcall('GET', KEYS[2])
  if not last then return nil end
  if type(last) == 'table' then return nil, foreign(KEYS[2], last) end
  local number = string.find(last, '^%d+$') and #last <= 16 and tonumber(last)
  if number and number <= 9007199254740990 then return number end
  local mark = string.match(last, '^v(%d+)|')
  return nil, {'foreign', KEYS[2], mark and 'format ' .. mark or 'no token'}
end
