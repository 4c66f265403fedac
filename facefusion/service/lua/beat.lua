-- A worker is there. ARGV: time, breed, name.
local _, breed, name = unpack(ARGV)
redis.call('ZADD', key('workers'), exactly(NOW), breed .. '|' .. name)
redis.call('SADD', key('breeds'), breed)
return 1
