// Takes lines from the radio gateway and appends them to the day's file.
const fs = require("fs");

function receive(line) {
  const [station, minute, level] = line.split(" ").map(Number);
  if (station !== 17) return; // a neighbour's station on the same channel
  const day = new Date(minute * 60000).toISOString().slice(0, 10);
  fs.appendFileSync(`readings/${day}.csv`, `${minute},${level}\n`);
}

module.exports = { receive };
