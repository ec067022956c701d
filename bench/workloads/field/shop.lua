-- What a Lua program does all day: tables of records, strings put together, closures, sorting, coroutines, patterns.
local seed = 7
local function random(n)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed % n
end

local words = {}
for i = 1, 400 do words[i] = string.format("word%03d", i) end

local function record(i)
  local tags = {}
  for _ = 1, random(6) + 1 do tags[#tags + 1] = words[random(#words) + 1] end
  return { id = i, name = words[random(400) + 1] .. " " .. words[random(400) + 1], tags = tags, score = random(10000) }
end

local function written(value)
  if type(value) ~= "table" then return string.format("%q", value) end
  local parts = {}
  if #value > 0 then
    for _, each in ipairs(value) do parts[#parts + 1] = written(each) end
  else
    local keys = {}
    for key in pairs(value) do keys[#keys + 1] = key end
    table.sort(keys)
    for _, key in ipairs(keys) do parts[#parts + 1] = key .. ": " .. written(value[key]) end
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

local records, by_tag = {}, {}
for i = 1, 20000 do records[i] = record(i) end
for _, each in ipairs(records) do
  for _, tag in ipairs(each.tags) do
    by_tag[tag] = by_tag[tag] or {}
    table.insert(by_tag[tag], function() return each.score end)
  end
end
local sums = {}
for tag, scores in pairs(by_tag) do
  local sum = 0
  for _, score in ipairs(scores) do sum = sum + score() end
  sums[#sums + 1] = { tag = tag, sum = sum }
end
table.sort(sums, function(a, b) return a.sum > b.sum or (a.sum == b.sum and a.tag < b.tag) end)

local lengths = 0
local writer = coroutine.wrap(function()
  for _, each in ipairs(records) do coroutine.yield(written(each)) end
end)
local text = {}
for i = 1, 5000 do text[i] = writer() end
for word in table.concat(text, "\n"):gmatch("word%d+") do lengths = lengths + #word end
print(sums[1].tag, sums[1].sum, lengths, #records)
