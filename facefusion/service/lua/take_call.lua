-- The call that has been due longest, which nobody else gets for a while. ARGV: time, seconds. Gives the job's id and
-- how often the call was begun; nothing where none is due.
local _, hold = unpack(ARGV)
local id = redis.call('ZRANGEBYSCORE', key('calls'), '-inf', exactly(NOW), 'LIMIT', 0, 1)[1]
if not id then return {} end
redis.call('ZADD', key('calls'), exactly(NOW + tonumber(hold)), id)
return {id, redis.call('HINCRBY', key('job', id), 'calls', 1)}
