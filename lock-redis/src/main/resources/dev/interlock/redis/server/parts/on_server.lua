-- Ends the script on a replica, as on_primary does, but not on a primary that has too few replicas
-- (NOREPLICAS).
--#include refusal
if type(refused) == 'table'
    and not string.find(refused.err, 'OOM', 1, true)
    and not string.find(refused.err, 'MISCONF', 1, true)
    and not string.find(refused.err, 'NOREPLICAS', 1, true) then
  return refused
end
