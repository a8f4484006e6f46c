// Removes the wash of passing boats: a running median over eleven minutes.
function smooth(levels) {
  return levels.map((_, i) => {
    const near = levels.slice(Math.max(0, i - 5), i + 6).sort((a, b) => a - b);
    return near[Math.floor(near.length / 2)];
  });
}

module.exports = { smooth };
