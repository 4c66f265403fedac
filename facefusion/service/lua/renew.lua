-- Keep a unit, and say how far it is. A lease that lapsed and that nobody noticed lives on: its holder does too.
-- ARGV: time, id, unit, token, seconds of the lease, frames done (empty where they are not counted).
-- Gives "kept", "lost" (the unit is somebody else's) or "final" (the job is, as when it was cancelled).
local _, id, unit, token, lease, frames = unpack(ARGV)
if not is_open(id) then return 'final' end
if not is_current(id, unit, token) then return 'lost' end
redis.call('ZADD', key('leases'), exactly(NOW + tonumber(lease)), member(id, unit))
if frames ~= '' then count_frames(id, unit, tonumber(frames)) end

-- Frames a second of all workers, smoothed over about the last ten seconds.
local told = tonumber(field(id, 'told') or '0')
if frames ~= '' and NOW - told >= 1 then
  local done, before = tonumber(field(id, 'done')), tonumber(field(id, 'rated') or '0')
  local share = math.min((NOW - told) / 10, 1)
  local fresh = math.max(done - before, 0) / (NOW - told)
  local rate = tonumber(field(id, 'rate'))
  if rate == 0 then share = 1 end
  redis.call('HSET', key('job', id), 'rated', done, 'rate', string.format('%.3f', rate + share * (fresh - rate)))
  tell(id)
end
return 'kept'
