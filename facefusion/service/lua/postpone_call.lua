-- Have a call due later, unless it was crossed out or its job erased. ARGV: time, id, seconds.
local _, id, seconds = unpack(ARGV)
redis.call('ZADD', key('calls'), 'XX', exactly(NOW + tonumber(seconds)), id)
