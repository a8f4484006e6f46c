package labels

import (
	"strings"
	"time"
)

// shelfMonths is how long a sealed bag keeps its taste. Vikram Nair's tests of
// 2023 found no loss in seven months and half a point in nine; at eleven it
// was two points.
const shelfMonths = 9

// Rest days after roasting, while the bag gives off gas.
const (
	espressoRest = 7
	filterRest   = 4
)

// espresso are the products that are brewed under pressure. Single origins
// count as filter, although some guests do otherwise at home.
var espresso = map[string]bool{
	"BN-301": true, "BN-302": true, "WS-501": true, "WS-502": true,
}

// BestBefore is nine months later on the same day of the month, or on the last
// day the month has. time.AddDate would carry 30 May on to 2 March, and a date
// in a later month than nine is not allowed on the bag.
func BestBefore(roasted time.Time) time.Time {
	year, month, day := roasted.Date()
	// Day 0 of the following month is the last day of the wanted one.
	last := time.Date(year, month+shelfMonths+1, 0, 0, 0, 0, 0, roasted.Location())
	if day > last.Day() {
		return last
	}
	return time.Date(year, month+shelfMonths, day, 0, 0, 0, 0, roasted.Location())
}

// RestDays says how long a product rests.
func RestDays(sku string) int {
	if espresso[sku] {
		return espressoRest
	}
	return filterRest
}

// BestFrom is the first day on which we would brew it ourselves.
func BestFrom(roasted time.Time, sku string) time.Time {
	return roasted.AddDate(0, 0, RestDays(sku))
}

// MaySend tells whether a bag may leave on a day. Shop parcels travel at least
// a day, so they may go one day before the rest is over; wholesale may go at
// once, since those customers keep their own stock.
func MaySend(roasted time.Time, sku string, day time.Time) bool {
	if strings.HasPrefix(sku, "WS-") {
		return !day.Before(roasted)
	}
	return !day.Before(BestFrom(roasted, sku).AddDate(0, 0, -1))
}
