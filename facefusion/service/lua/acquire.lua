-- Take a unit. ARGV: time, id, unit, name of the worker, seconds of the lease, most workers that may be lost, pause
-- after a loss, fault of a parked job, seconds for which final jobs are kept.
-- Gives a word: "gone" (the job is final or not there), "done", "held" (by a lease that is live, or it is queued again)
-- or "granted", with the token and the number of times that it was tried before.
local _, id, unit, worker, lease, most, pause, fault, kept = unpack(ARGV)
if not is_open(id) then return {'gone'} end
if is_done(id, unit) then return {'done'} end
if unit ~= 'plan' and not worked(id, 'plan') then return {'gone'} end -- it is planned anew
if unit == 'join' and field(id, 'segments_done') ~= field(id, 'segments') then return {'gone'} end
local name = member(id, unit)
local expiry = redis.call('ZSCORE', key('leases'), name)
if expiry then
  if tonumber(expiry) <= NOW then lose(id, unit, tonumber(most), tonumber(pause), fault, tonumber(kept)) end
  return {'held'}
end
redis.call('ZREM', key('unsent'), name)
redis.call('ZREM', key('sent', queue_of(id, unit)), name)
local token = redis.call('INCR', key('token'))
redis.call('HSET', key('work', id), 'token:' .. unit, token, 'holder:' .. unit, worker)
redis.call('ZADD', key('leases'), exactly(NOW + tonumber(lease)), name)
if field(id, 'state') == 'queued' then
  redis.call('HSET', key('job', id), 'state', 'running', 'started', exactly(NOW))
  leave_waiting(id)
  tell(id)
end
return {'granted', tostring(token), tonumber(worked(id, 'tries:' .. unit) or '0')}
