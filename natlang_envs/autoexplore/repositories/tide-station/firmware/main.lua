-- Reads the float every six seconds and sends the mean of ten readings once a minute.
local float = require("float")
local radio = require("radio")

local sum, count = 0, 0
while true do
  sum, count = sum + float.read(), count + 1
  if count == 10 then
    radio.send(sum / count)
    sum, count = 0, 0
  end
  sleep(6)
end
