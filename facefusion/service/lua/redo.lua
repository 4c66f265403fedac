-- Give a join up, whose segment is damaged or gone, and queue that segment again. ARGV: time, id, token, number.
-- Gives "kept", or "refused" where the token is old.
local _, id, token, number = unpack(ARGV)
if not is_current(id, 'join', token) then return 'refused' end
let_go(id, 'join')
redis.call('HINCRBY', key('work', id), 'tries:join', 1)
retry(id)
if redis.call('HDEL', key('work', id), 'manifest:' .. number) == 1 then
  redis.call('HINCRBY', key('job', id), 'segments_done', -1)
  count_frames(id, number, 0)
  queue_unit(id, number, NOW)
else
  queue_unit(id, 'join', NOW)
end
return 'kept'
