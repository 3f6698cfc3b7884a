-- Defines format_of(value): the format of a lock's value, or nil if no lock has such a value.
-- Format 1 has no mark: a claim's id of 27 characters, a bar, the holder's label, and perhaps
-- "revoked|" before them. The value of any later format begins with "v", its number, and a bar.
local function format_of(value)
  local mark = string.match(value, '^v(%d+)|')
  if mark then return tonumber(mark) end
  if string.sub(value, 1, 8) == 'revoked|' then value = string.sub(value, 9) end
  if string.find(value, '^[%w_-]+|') and string.find(value, '|', 1, true) == 28 then return 1 end
end
