-- Give a unit up for which the devices of a worker are too small, for good: it goes to others.
-- ARGV: time, id, unit, token, breed and name of the worker, seconds until others of its breed are offered it.
-- Gives "kept" where it was passed on, "held" where nobody is left for it, or "refused" where the token is old.
local _, id, unit, token, breed, name, pause = unpack(ARGV)
if not is_current(id, unit, token) then return 'refused' end
redis.call('SADD', key('unfit', id), breed .. '|' .. name)
local same, other = false, nil
for _, worker in ipairs(redis.call('ZRANGE', key('workers'), 0, -1)) do
  if redis.call('SISMEMBER', key('unfit', id), worker) == 0 then
    local its = string.match(worker, '^[^|]*')
    if its == breed then same = true else other = its end
  end
end
if not same and not other then return 'held' end
if same then
  let_go(id, unit)
  count_frames(id, unit, 0)
  queue_unit(id, unit, NOW + tonumber(pause))
else
  -- Where its own kind of worker has no room, another kind plans it.
  plan_anew(id)
  redis.call('HSET', key('job', id), 'breed', other)
  redis.call('SADD', key('breed', other), id)
end
return 'kept'
