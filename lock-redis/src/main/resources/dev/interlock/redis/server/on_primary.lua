-- Ends the script on a replica. It may lag behind its primary, so the absence of the claim's value
-- says nothing. Only a primary lacks memory for a write (OOM), or a disk to save it to (MISCONF).
--#include refusal
if type(refused) == 'table'
    and not string.find(refused.err, 'OOM', 1, true)
    and not string.find(refused.err, 'MISCONF', 1, true) then
  return refused
end
