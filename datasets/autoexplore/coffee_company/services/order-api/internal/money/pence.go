// Package money keeps amounts as whole pence. Floats are banned: in 2018 a
// spreadsheet of floats lost £0.01 on every eleventh receipt.
package money

import "fmt"

// Pence is an amount of money; refunds are negative.
type Pence int64

// Rate is a VAT rate in hundredths of a per cent.
type Rate int64

// The rates the catalogue uses. Which product bears which is finance's
// decision and stands in the catalogue file, not in code.
const (
	Zero     Rate = 0
	Reduced  Rate = 500
	Standard Rate = 2000
)

// String writes £3.70 or -£0.30.
func (p Pence) String() string {
	sign := ""
	if p < 0 {
		sign, p = "-", -p
	}
	return fmt.Sprintf("%s£%d.%02d", sign, p/100, p%100)
}

// Split divides an amount that includes VAT into net and VAT. VAT is rounded
// half away from zero so that a refund undoes a sale exactly. Call it once per
// receipt and rate, not per line: over 40 lines the roundings could differ by
// up to 20p from what the tax return expects.
func Split(gross Pence, rate Rate) (net, vat Pence) {
	sign := Pence(1)
	if gross < 0 {
		sign, gross = -1, -gross
	}
	part, whole := int64(gross)*int64(rate), int64(10_000+rate)
	v := Pence((2*part + whole) / (2 * whole))
	return sign * (gross - v), sign * v
}

// Share divides an amount over weights without losing a penny: the pence left
// after rounding down go to the earliest weights. Used to spread a discount
// over the lines of a receipt.
func Share(total Pence, weights []int64) ([]Pence, error) {
	var sum int64
	for _, w := range weights {
		if w < 0 {
			return nil, fmt.Errorf("negative weight %d", w)
		}
		sum += w
	}
	if sum == 0 {
		return nil, fmt.Errorf("weights of %d lines add up to zero", len(weights))
	}
	shares := make([]Pence, len(weights))
	rest := total
	for i, w := range weights {
		shares[i] = Pence(int64(total) * w / sum)
		rest -= shares[i]
	}
	for i := 0; rest > 0; i = (i + 1) % len(shares) {
		if weights[i] > 0 {
			shares[i]++
			rest--
		}
	}
	return shares, nil
}
