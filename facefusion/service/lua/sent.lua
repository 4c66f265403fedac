-- Messages were sent. ARGV: time, then id, unit, queue and mark of each ...
for at = 2, #ARGV, 4 do
  local name = member(ARGV[at], ARGV[at + 1])
  local due = redis.call('ZSCORE', key('unsent'), name)
  -- Else it was taken in the meantime, and maybe queued anew.
  if due and exactly(tonumber(due)) == ARGV[at + 3] then
    redis.call('ZREM', key('unsent'), name)
    redis.call('ZADD', key('sent', ARGV[at + 2]), exactly(NOW), name)
  end
end
return 1
