-- Reads the state of the node. A quarantine that was interrupted by another restart begins again.
--
-- KEYS: record
-- ARGV: run; maxTtl in ms
-- Replies: member, quarantined, restarted or blank; the floor; the rest of the quarantine in ms; 
--          maxTtl in ms; and the number of nodes; the last two are empty if they are not known
--          foreign, a key, and its content
--#include record
if r[1] == ARGV[1] then return {'member', r[3], 0, r[2], r[6] or ''} end
if r[4] == ARGV[1] then
  return {'quarantined', r[3] or '0', math.max(tonumber(r[5]) - now, 0), r[2] or '', r[6] or ''}
end
if r[4] then return quarantine(ARGV[1], ARGV[2]) end
if r[1] then return {'restarted', r[3], 0, r[2], r[6] or ''} end
return {'blank', '0', 0, '', r[6] or ''}
