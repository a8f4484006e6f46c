-- Sends one line over the long-range radio: station number, minute, level in millimetres.
-- A line that is not acknowledged within four seconds is sent again, at most three times.
local M = {}

function M.send(level)
  local line = string.format("17 %d %d", minute(), level * 1000)
  for attempt = 1, 3 do
    if lora_send(line, 4) then return true end
  end
  return false
end

return M
