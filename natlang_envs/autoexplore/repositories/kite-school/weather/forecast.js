// Two forecasts are fetched and the windier of the two is believed.
async function forecast(fetchA, fetchB, hour) {
  const [a, b] = await Promise.all([fetchA(hour), fetchB(hour)]);
  return a.knots > b.knots ? a : b;
}

module.exports = { forecast };
