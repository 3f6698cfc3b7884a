-- Removes the mark "awaited|" from the value. Sets awaited: whether a waiter asked for a message on
-- release.
awaited = value and string.sub(value, 1, 8) == 'awaited|'
if awaited then value = string.sub(value, 9) end
