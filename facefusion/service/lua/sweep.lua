-- Look after what nobody looks after: units whose worker is gone, messages that are lost, plans that nobody left can
-- follow, jobs whose time is over. ARGV: time, most lost workers, pause after a loss, fault of a parked job, seconds for
-- which final jobs are kept, seconds after which a message or a worker counts as gone, the fleet's queues ...
-- Gives how many units were lost, how many messages, how many plans.
local _, most, pause, fault, kept, patience = unpack(ARGV)
local MANY = 100
local lost, resent, replanned = 0, 0, 0

for _, name in ipairs(redis.call('ZRANGEBYSCORE', key('leases'), '-inf', exactly(NOW), 'LIMIT', 0, MANY)) do
  local id, unit = parts(name)
  if is_open(id) then
    lose(id, unit, tonumber(most), tonumber(pause), fault, tonumber(kept))
    lost = lost + 1
  else
    redis.call('ZREM', key('leases'), name)
  end
end

-- A message that Redis handed to a worker which died at that moment is in no queue any more. Where a queue is empty,
-- whoever is said to wait in it does not.
for at = 7, #ARGV do
  local queue = ARGV[at]
  if redis.call('LLEN', queue) == 0 then
    local old = exactly(NOW - tonumber(patience))
    for _, name in ipairs(redis.call('ZRANGEBYSCORE', key('sent', queue), '-inf', old, 'LIMIT', 0, MANY)) do
      redis.call('ZREM', key('sent', queue), name)
      local id, unit = parts(name)
      if is_open(id) then
        queue_unit(id, unit, NOW)
        resent = resent + 1
      end
    end
  end
end

-- Plans of a breed of which no worker is left, as after an upgrade, are made anew by another.
redis.call('ZREMRANGEBYSCORE', key('workers'), '-inf', exactly(NOW - tonumber(patience)))
local alive = {}
for _, worker in ipairs(redis.call('ZRANGE', key('workers'), 0, -1)) do
  alive[string.match(worker, '^[^|]*')] = true
end
for _, breed in ipairs(redis.call('SMEMBERS', key('breeds'))) do
  if not alive[breed] then
    for _, id in ipairs(redis.call('SRANDMEMBER', key('breed', breed), MANY)) do
      plan_anew(id)
      replanned = replanned + 1
    end
    if redis.call('SCARD', key('breed', breed)) == 0 then
      redis.call('SREM', key('breeds'), breed)
      for _, priority in ipairs({'high', 'normal', 'low'}) do
        local queue = 'facefusion.' .. priority .. '.' .. breed
        redis.call('DEL', queue, '_kombu.binding.' .. queue, '_kombu.binding_permanent.' .. queue)
      end
    end
  end
end

for _, id in ipairs(redis.call('ZRANGEBYSCORE', key('ended'), '-inf', exactly(NOW), 'LIMIT', 0, MANY)) do
  forget_job(id)
end
return {lost, resent, replanned}
