-- The float turns a potentiometer: 0 to 4095 counts over 7.2 m of travel.
local M = {}

function M.read()
  local counts = adc(0)
  if counts < 8 or counts > 4087 then
    return nil -- the wire is broken or the float is jammed against a stop
  end
  return counts / 4095 * 7.2
end

return M
