-- Ask for a job not to go on. It is final from here on, so whoever still works on it is refused when it next says
-- anything. ARGV: time, id, seconds for which final jobs are kept. Gives whether the job was open.
local _, id, kept = unpack(ARGV)
if not is_open(id) then return 0 end
finish(id, 'cancelled', tonumber(kept))
return 1
