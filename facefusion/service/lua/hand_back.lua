-- Give a unit back that is not done. ARGV: time, id, unit, token, seconds until it is queued again, whether it counts
-- as a try that failed. Gives "kept", or "refused" where the token is old.
local _, id, unit, token, pause, counts = unpack(ARGV)
if not is_current(id, unit, token) then return 'refused' end
let_go(id, unit)
count_frames(id, unit, 0)
if counts == '1' then
  redis.call('HINCRBY', key('work', id), 'tries:' .. unit, 1)
  retry(id)
end
queue_unit(id, unit, NOW + tonumber(pause))
return 'kept'
