-- Defines foreign(key, problem): the reply for a key that could not be read as the type it should
-- have. Errors of another kind, such as a missing permission, are passed on.
local function foreign(key, problem)
  if not string.find(problem.err, 'WRONGTYPE', 1, true) then return problem end
  return {'foreign', key, redis.call('TYPE', key).ok}
end
