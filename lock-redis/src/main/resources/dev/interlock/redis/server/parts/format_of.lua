-- Defines format_of(value), which returns the format of a lock's value, or nil if it is not a lock's.
-- A value of format 1 consists of the claim's id of 27 characters, a bar, and the holder's label;
-- "revoked|" may come first. A value of a later format begins with "v", its number, and a bar.
local function format_of(value)
  local mark = string.match(value, '^v(%d+)|')
  if mark then return tonumber(mark) end
  if string.sub(value, 1, 8) == 'revoked|' then value = string.sub(value, 9) end
  if string.find(value, '^[%w_-]+|') and string.find(value, '|', 1, true) == 28 then return 1 end
end
