-- Units that a message has to be sent for now. Whoever gets them has so many seconds to send it and to say so; else
-- others send it too, which does no harm. ARGV: time, most of them, those seconds.
-- Gives id, unit, queue and a mark of each, one after the other.
local _, most, hold = unpack(ARGV)
local found = {}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', key('unsent'), '-inf', exactly(NOW), 'LIMIT', 0, tonumber(most))) do
  local id, unit = parts(name)
  if is_open(id) and not is_done(id, unit) then
    local mark = exactly(NOW + tonumber(hold))
    redis.call('ZADD', key('unsent'), mark, name)
    for _, word in ipairs({id, unit, queue_of(id, unit), mark}) do found[#found + 1] = word end
  else
    redis.call('ZREM', key('unsent'), name)
  end
end
return found
