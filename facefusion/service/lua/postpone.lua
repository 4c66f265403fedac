-- Queue a unit again later that came as a message and was not taken. ARGV: time, id, unit, seconds.
local _, id, unit, pause = unpack(ARGV)
if not is_open(id) or is_done(id, unit) or redis.call('ZSCORE', key('leases'), member(id, unit)) then return 0 end
queue_unit(id, unit, NOW + tonumber(pause))
return 1
