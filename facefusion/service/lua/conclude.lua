-- End a job whose unit is held. ARGV: time, id, unit, token, state, seconds for which final jobs are kept, then pairs
-- of a field and its value ... Gives "kept", or "refused" where the token is old.
local _, id, unit, token, state, kept = unpack(ARGV)
if not is_current(id, unit, token) then return 'refused' end
for at = 7, #ARGV, 2 do
  redis.call('HSET', key('job', id), ARGV[at], ARGV[at + 1])
end
local result = field(id, 'result')
if result then count_result(record_of(id).owner, result, 1) end
finish(id, state, tonumber(kept))
return 'kept'
