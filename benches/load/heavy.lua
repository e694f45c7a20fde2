-- Decisions that take about a millisecond: ten candidates of 256 features.
math.randomseed(7)
local bodies = {}
for set = 1, 4 do
  local actions = {}
  for a = 1, 10 do
    local x = {}
    for i = 1, 256 do
      x[i] = string.format("%.4f", (math.random() - 0.5) / 8)
    end
    actions[a] = "[" .. table.concat(x, ",") .. "]"
  end
  bodies[set] = '{"actions":[' .. table.concat(actions, ",") .. "]}"
end
local next = 0

request = function()
  next = next + 1
  return wrk.format("POST", "/v1/experiments/heavy/decisions",
    { ["content-type"] = "application/json" }, bodies[next % 4 + 1])
end
