-- Forget a job that is final. ARGV: time, id. Gives "open" where it is not final.
local _, id = unpack(ARGV)
if is_open(id) then return 'open' end
forget_job(id)
return 'gone'
