-- What all scripts have in common; it stands in front of each of them.
--
-- KEYS[1] is the prefix of all keys, from which the others are made here: the fleet's Redis is one server, as Celery
-- wants it. ARGV[1] is the time in seconds since 1970, or empty for the server's own clock, so that no machine of the
-- fleet has to agree with another about the time.
--
--   job:ID         hash    what is known of a job: record (JSON), state, started, ended, done, total, rate, ...
--   work:ID        hash    what is known of its work: plan, count, and of each unit token, tries, lost, manifest, ...
--   events:ID      stream  what those who watch it are told
--   jobs, jobs-of:OWNER    sorted by the time of submission
--   waiting:PRIORITY       jobs that nobody has begun, sorted likewise
--   ended                  final jobs, sorted by when they are forgotten
--   calls                  final jobs whose end somebody is still to be told of, sorted by when
--   leases         units in work, sorted by when their lease lapses
--   unsent         units that a message has to be sent for, sorted by when
--   sent:QUEUE     units whose message waits in a queue of Celery, sorted by when it was sent
--   uses:ASSET     jobs that are not final and use an asset
--   waiting-of     hash    how many of those each owner has
--   kept           hash    bytes of the results that are kept, by owner
--   coming:OWNER   hash    bytes of uploads on their way, each with the time of the claim
--   breed:BREED    jobs that were planned by workers of a breed and are not final
--   workers        workers, sorted by when they were seen last
--   unfit:ID       workers whose devices are too small for a job
--   token          the last fencing token; it grows for ever
--
-- A unit is "plan", "join" or the number of a segment.

local PREFIX = KEYS[1]
local FINAL = {completed = true, failed = true, rejected = true, cancelled = true, parked = true}
local MOST_EVENTS = 128
local EVENTS_SECONDS = 3600 -- how long the events of a final job are kept; its last one is kept as long as the job

local function key(name, id)
  if id then return PREFIX .. name .. ':' .. id end
  return PREFIX .. name
end

local function exactly(seconds)
  return string.format('%.6f', seconds)
end

local function clock()
  if ARGV[1] ~= '' then return tonumber(ARGV[1]) end
  local time = redis.call('TIME')
  return tonumber(time[1]) + tonumber(time[2]) / 1000000
end

local NOW = clock()

local function member(id, unit)
  return id .. '|' .. unit
end

local function parts(name)
  return string.match(name, '^(.*)|([^|]*)$')
end

local function field(id, name)
  return redis.call('HGET', key('job', id), name)
end

local function worked(id, name)
  return redis.call('HGET', key('work', id), name)
end

local function record_of(id)
  return cjson.decode(field(id, 'record'))
end

-- The queue of Celery that a unit's message goes to: segments only to workers of the breed that made the plan, and
-- before any new job of their priority, so that jobs end in the order in which they began. A plan goes to whoever is
-- there, unless it was found to be for workers of some breed only.
local function queue_of(id, unit)
  local queue, breed = 'facefusion.' .. field(id, 'priority'), field(id, 'breed')
  if not breed then return queue end
  return queue .. '.' .. breed
end

local function tell(id)
  local names = {'state', 'done', 'total', 'rate', 'segments_done', 'segments'}
  local values = redis.call('HMGET', key('job', id), unpack(names))
  local event = {}
  for at, name in ipairs(names) do
    event[#event + 1] = name
    event[#event + 1] = values[at] or ''
  end
  local last = redis.call('XADD', key('events', id), 'MAXLEN', '=', MOST_EVENTS, '*', unpack(event))
  redis.call('HSET', key('job', id), 'told', exactly(NOW), 'last', last)
end

local function queue_unit(id, unit, due)
  redis.call('ZADD', key('unsent'), exactly(due), member(id, unit))
end

-- Nobody holds the unit any more, and what an old holder says of it counts no more.
local function let_go(id, unit)
  redis.call('ZREM', key('leases'), member(id, unit))
  redis.call('HDEL', key('work', id), 'token:' .. unit)
end

-- How many of a unit's frames are done; the job's count follows.
local function count_frames(id, unit, frames)
  local before = tonumber(worked(id, 'frames:' .. unit) or '0')
  redis.call('HSET', key('work', id), 'frames:' .. unit, frames)
  redis.call('HINCRBY', key('job', id), 'done', frames - before)
end

local function forget_units(id)
  local work = key('work', id)
  local units = {'plan', 'join'}
  for number = 0, tonumber(redis.call('HGET', work, 'count') or '0') - 1 do
    units[#units + 1] = tostring(number)
  end
  for _, unit in ipairs(units) do
    local name = member(id, unit)
    redis.call('ZREM', key('leases'), name)
    redis.call('ZREM', key('unsent'), name)
    redis.call('ZREM', key('sent', queue_of(id, unit)), name)
  end
  local breed = field(id, 'breed')
  if breed then redis.call('SREM', key('breed', breed), id) end
  redis.call('DEL', work)
end

-- What is told of all jobs since there is the queue, those that are forgotten by now among them.
local function count(what)
  redis.call('HINCRBY', key('totals'), what, 1)
end

local function retry(id)
  redis.call('HINCRBY', key('job', id), 'retries', 1)
  count('retries')
end

-- Forget what was planned and made, and have the job planned again.
local function plan_anew(id)
  forget_units(id)
  redis.call('HDEL', key('job', id), 'breed', 'segments', 'total', 'rated')
  redis.call('HSET', key('job', id), 'segments_done', 0, 'done', 0, 'rate', 0)
  retry(id)
  queue_unit(id, 'plan', NOW)
  tell(id)
end

-- A job waits no more; harmless where it did not.
local function leave_waiting(id)
  local record = record_of(id)
  if redis.call('ZREM', key('waiting', record.priority), id) == 0 then return end
  if redis.call('HINCRBY', key('waiting-of'), record.owner, -1) <= 0 then
    redis.call('HDEL', key('waiting-of'), record.owner)
  end
end

local function finish(id, state, kept)
  local record = record_of(id)
  count(state)
  redis.call('HSET', key('job', id), 'state', state, 'ended', exactly(NOW))
  leave_waiting(id)
  for _, asset in ipairs(record.assets) do
    redis.call('SREM', key('uses', asset), id)
  end
  forget_units(id)
  redis.call('DEL', key('unfit', id))
  redis.call('ZADD', key('ended'), exactly(NOW + kept), id)
  if record.callback then redis.call('ZADD', key('calls'), exactly(NOW), id) end
  tell(id)
  redis.call('EXPIRE', key('events', id), EVENTS_SECONDS)
end

-- What is kept of an owner's results grows, or becomes less, by that of a job.
local function count_result(owner, result, sign)
  local size = cjson.decode(result).size
  if redis.call('HINCRBY', key('kept'), owner, string.format('%d', sign * size)) <= 0 then
    redis.call('HDEL', key('kept'), owner)
  end
end

local function forget_job(id)
  local record = field(id, 'record')
  if record then
    local owner = cjson.decode(record).owner
    redis.call('ZREM', key('jobs-of', owner), id)
    local result = field(id, 'result')
    if result then count_result(owner, result, -1) end
  end
  redis.call('ZREM', key('jobs'), id)
  redis.call('ZREM', key('ended'), id)
  redis.call('ZREM', key('calls'), id)
  redis.call('DEL', key('job', id), key('events', id), key('work', id))
end

local function is_open(id)
  local state = field(id, 'state')
  return state and not FINAL[state]
end

local function is_done(id, unit)
  if unit == 'join' then return false end -- a job that is joined is final
  if unit == 'plan' then return worked(id, 'plan') end
  return worked(id, 'manifest:' .. unit)
end

-- Whether a token is the newest of its unit, and the unit is still to be done.
local function is_current(id, unit, token)
  return is_open(id) and worked(id, 'token:' .. unit) == token
end

-- A worker was lost with a unit. It is queued again, after a pause that doubles; after so many, the job is parked.
local function lose(id, unit, most, pause, fault, kept)
  let_go(id, unit)
  count_frames(id, unit, 0)
  retry(id)
  local lost = redis.call('HINCRBY', key('work', id), 'lost:' .. unit, 1)
  if lost >= most then
    redis.call('HSET', key('job', id), 'fault', fault)
    finish(id, 'parked', kept)
    return
  end
  local wait = 0
  if lost > 1 then wait = pause * 2 ^ (lost - 2) end
  queue_unit(id, unit, NOW + wait)
end
