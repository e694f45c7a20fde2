-- Decisions and their outcomes, half and half: on ten experiments of a thousand arms, and every eleventh
-- on one with d = 64, whose requests bring twenty candidates. Ids are the caller's own, so that an outcome
-- can be reported without reading the answer; it follows its decision after as many requests as can be
-- under way.
local LAG = 512
local headers = { ["content-type"] = "application/json" }
-- wrk makes the first request only to look at it.
local asked, reported, run = 0, 1, tostring(os.time())

math.randomseed(7)
local bodies = {}
for set = 1, 8 do
  local actions = {}
  for a = 1, 20 do
    local x = {}
    for i = 1, 64 do
      x[i] = string.format("%.4f", (math.random() - 0.5) / 4)
    end
    actions[a] = "[" .. table.concat(x, ",") .. "]"
  end
  bodies[set] = ',"actions":[' .. table.concat(actions, ",") .. "]"
end

local function name(n)
  if n % 11 == 0 then
    return "linear"
  end
  return "wide-" .. (n % 11)
end

request = function()
  if asked - reported >= LAG then
    reported = reported + 1
    local reward = math.random() < 0.3 and 1 or 0
    local cost = math.random() < 0.1 and 1 or 0
    local body = string.format(
      '{"decision":"%s-%d","reward":%d,"costs":{"cost":%d}}', run, reported, reward, cost)
    return wrk.format("POST", "/v1/experiments/" .. name(reported) .. "/outcomes", headers, body)
  end
  asked = asked + 1
  local extra = asked % 11 == 0 and bodies[asked % 8 + 1] or ""
  local body = string.format('{"id":"%s-%d"%s}', run, asked, extra)
  return wrk.format("POST", "/v1/experiments/" .. name(asked) .. "/decisions", headers, body)
end
