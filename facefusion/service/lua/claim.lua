-- Say how large an upload on its way is. ARGV: time, owner, name of the upload, bytes, seconds after which a claim that
-- was not renewed counts no more. Gives the bytes of all claims of that owner.
local _, owner, upload, size, lasts = unpack(ARGV)
local claims = key('coming', owner)
redis.call('HSET', claims, upload, size .. ' ' .. exactly(NOW))
redis.call('EXPIRE', claims, lasts)
local total = 0
local all = redis.call('HGETALL', claims)
for at = 1, #all, 2 do
  local bytes, since = string.match(all[at + 1], '^(%d+) (.*)$')
  if tonumber(since) + tonumber(lasts) < NOW then
    redis.call('HDEL', claims, all[at])
  else
    total = total + tonumber(bytes)
  end
end
return string.format('%d', total)
