-- Begin a job anew with frames that are worked on one at a time, whose unit found too little memory for several.
-- ARGV: time, id, unit, token. Gives "kept", or "refused" where the token is old.
local _, id, unit, token = unpack(ARGV)
if not is_current(id, unit, token) then return 'refused' end
redis.call('HSET', key('job', id), 'alone', 1)
redis.call('DEL', key('unfit', id))
plan_anew(id)
return 'kept'
