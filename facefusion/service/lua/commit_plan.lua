-- Keep a job's plan and queue its segments. ARGV: time, id, token, plan, breed, the frames of
-- each segment (a list in JSON).
-- Gives "kept", or "refused" where the token is old.
local _, id, token, plan, breed, listed = unpack(ARGV)
if not is_current(id, 'plan', token) then return 'refused' end
let_go(id, 'plan')
local frames, total = cjson.decode(listed), 0
redis.call('HSET', key('work', id), 'plan', plan, 'count', #frames)
redis.call('SADD', key('breed', breed), id)
for at, amount in ipairs(frames) do
  local unit = tostring(at - 1)
  total = total + amount
  redis.call('HSET', key('work', id), 'planned:' .. unit, amount)
  queue_unit(id, unit, NOW)
end
redis.call('HSET', key('job', id), 'breed', breed, 'segments', #frames, 'total', total)
tell(id)
return 'kept'
