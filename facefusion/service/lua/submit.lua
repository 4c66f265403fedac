-- Queue a job once. ARGV: time, id, record, owner, priority, created, most that may wait, name of the idempotency key
-- (empty for none), digest of the content, seconds for which that key counts, most jobs of the owner that are known at a
-- time, places that are kept for owners who have fewer jobs waiting, id of each asset ...
-- Gives a word and the id of the job that there is.
local _, id, record, owner, priority, created, most, name, digest, lasts, kept, few = unpack(ARGV)

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
if redis.call('ZCARD', key('jobs-of', owner)) >= tonumber(kept) then return {'too many', ''} end
local waiting = 0
for _, each in ipairs({'high', 'normal', 'low'}) do
  waiting = waiting + redis.call('ZCARD', key('waiting', each))
end
-- The last places are for owners who have few jobs among those that wait, so that nobody's pile shuts all others out.
most, few = tonumber(most), tonumber(few)
local own = tonumber(redis.call('HGET', key('waiting-of'), owner) or '0')
if waiting >= most or (few > 0 and waiting >= most - few and own >= few) then return {'full', ''} end

redis.call('HSET', key('job', id), 'record', record, 'priority', priority, 'state', 'queued', 'done', 0, 'rate', 0,
  'segments_done', 0, 'retries', 0)
redis.call('ZADD', key('jobs'), created, id)
redis.call('ZADD', key('jobs-of', owner), created, id)
redis.call('ZADD', key('waiting', priority), created, id)
redis.call('HINCRBY', key('waiting-of'), owner, 1)
for at = 13, #ARGV do
  redis.call('SADD', key('uses', ARGV[at]), id)
end
if name ~= '' then
  redis.call('HSET', key('once', name), 'id', id, 'digest', digest)
  redis.call('EXPIRE', key('once', name), lasts)
end
queue_unit(id, 'plan', NOW)
tell(id)
return {'queued', id}
