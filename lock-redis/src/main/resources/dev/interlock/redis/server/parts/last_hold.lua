-- Reads the hold that ends last (top) and its end (latest); without holds, these are those of the
-- head. Reads the waiting and reserved weights (waiting), see share_acquire. Leaves out those that have
-- ended. Also leaves out those that began in the future: the clock was set back, and they would last
-- until it shows that time again.
local top = redis.call('ZRANGE', KEYS[1], 0, 1, 'REV', 'WITHSCORES')
local line, waiting
if top[2] == 'inf' then
  line, waiting = top[1], {}
  for weight, since, ends, id in string.gmatch(line, '(%d+):(%d+):(%d+):?([%w_-]*)') do
    if tonumber(ends) >= now and tonumber(since) <= now then
      waiting[#waiting + 1] =
          {weight = tonumber(weight), since = tonumber(since), ends = tonumber(ends), id = id}
    end
  end
  top = {top[3], top[4]}
end
local latest = tonumber(top[2] or 0)
