-- Ends the script on a replica. A replica may lag behind its primary, so a missing value proves
-- nothing. Only a primary refuses a write because of its memory (OOM) or its disk (MISCONF).
--#include refusal
if type(refused) == 'table'
    and not string.find(refused.err, 'OOM', 1, true)
    and not string.find(refused.err, 'MISCONF', 1, true) then
  return refused
end
