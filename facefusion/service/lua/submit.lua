-- Queue a job once. ARGV: time, id, record, owner, priority, created, most that may wait, name of the idempotency key
-- (empty for none), digest of the content, seconds for which that key counts, most jobs of the owner that are known at a
-- time, id of each asset ...
-- Gives a word and the id of the job that there is.
local _, id, record, owner, priority, created, most, name, digest, lasts, kept = unpack(ARGV)

-- Jobs whose time is over go whenever others come, so that what is kept stays bounded without anybody's help.
for _, old in ipairs(redis.call('ZRANGEBYSCORE', key('ended'), '-inf', exactly(NOW), 'LIMIT', 0, 20)) do
  forget_job(old)
end
if name ~= '' then
  local earlier = redis.call('HMGET', key('once', name), 'id', 'digest')
  if earlier[1] and redis.call('EXISTS', key('job', earlier[1])) == 1 then
    if earlier[2] ~= digest then return {'conflict', earlier[1]} end
    return {'known', earlier[1]}
  end
end
if redis.call('EXISTS', key('job', id)) == 1 then return {'conflict', id} end
if redis.call('ZCARD', key('jobs-of', owner)) >= tonumber(kept) then return {'many', ''} end
local waiting = 0
for _, each in ipairs({'high', 'normal', 'low'}) do
  waiting = waiting + redis.call('ZCARD', key('waiting', each))
end
if waiting >= tonumber(most) then return {'full', ''} end

redis.call('HSET', key('job', id), 'record', record, 'priority', priority, 'state', 'queued', 'done', 0, 'rate', 0,
  'segments_done', 0, 'retries', 0)
redis.call('ZADD', key('jobs'), created, id)
redis.call('ZADD', key('jobs-of', owner), created, id)
redis.call('ZADD', key('waiting', priority), created, id)
for at = 12, #ARGV do
  redis.call('SADD', key('uses', ARGV[at]), id)
end
if name ~= '' then
  redis.call('HSET', key('once', name), 'id', id, 'digest', digest)
  redis.call('EXPIRE', key('once', name), lasts)
end
queue_unit(id, 'plan', NOW)
tell(id)
return {'queued', id}
