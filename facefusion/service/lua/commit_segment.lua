-- Keep the manifest of a segment, once; the last one queues the join, so that happens once too.
-- ARGV: time, id, number, token, manifest. Gives "kept", "last", or "refused" where the token is old.
local _, id, unit, token, manifest = unpack(ARGV)
if not is_current(id, unit, token) then return 'refused' end
let_go(id, unit)
redis.call('HSET', key('work', id), 'manifest:' .. unit, manifest)
count_frames(id, unit, tonumber(worked(id, 'planned:' .. unit)))
local done = redis.call('HINCRBY', key('job', id), 'segments_done', 1)
tell(id)
if done < tonumber(worked(id, 'count')) then return 'kept' end
queue_unit(id, 'join', NOW)
return 'last'
