// A warning is sent once and not again before the level has fallen 0.2 m below its limit.
const rules = require("./rules.json");
const active = new Set();

function check(level, send) {
  for (const [name, rule] of Object.entries(rules)) {
    if (!rule || rule.above_m === undefined) continue;
    if (level > rule.above_m && !active.has(name)) {
      active.add(name);
      rule.send.forEach((who) => send(who, name, level));
    } else if (level < rule.above_m - 0.2) {
      active.delete(name);
    }
  }
}

module.exports = { check };
