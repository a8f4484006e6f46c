package api

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"code.int.brackmouthcoffee.example/order-api/internal/money"
)

const (
	maxLines    = 40
	maxQuantity = 24
	maxTotal    = money.Pence(50_000)
	// A café box without a time server drifts about a minute a week.
	clockAhead = 5 * time.Minute
	// Eight hours of offline work and half an hour for the queue to drain.
	replayAge = 8*time.Hour + 30*time.Minute
	// An order sent live that is older than this is a till with a wrong clock.
	liveAge = 10 * time.Minute
)

// Order is one receipt as a till sends it.
type Order struct {
	ID             string      `json:"id"`
	IdempotencyKey string      `json:"-"`
	Cafe           string      `json:"cafe"`
	PlacedAt       time.Time   `json:"placed_at"`
	Lines          []Line      `json:"lines"`
	Discount       money.Pence `json:"discount_pence"`
	Total          money.Pence `json:"total_pence"`
	Refunded       money.Pence `json:"refunded_pence"`
	LoyaltyToken   string      `json:"loyalty_token,omitempty"`
}

// Line is one product with its modifiers.
type Line struct {
	SKU       string      `json:"sku"`
	Quantity  int         `json:"quantity"`
	Unit      money.Pence `json:"unit_pence"`
	Modifiers []string    `json:"modifiers,omitempty"`
}

var (
	cafeCode = regexp.MustCompile(`^C(0[1-9]|10)$`)
	skuCode  = regexp.MustCompile(`^(DR|FD|BN|MR)-[0-9]{3}$`)
	keyCode  = regexp.MustCompile(`^[0-9a-f]{32}$`)
	token    = regexp.MustCompile(`^[0-9A-Z]{12}$`)
	// Same prices as in the tills; own cup is the only one that takes off.
	modifierPrice = map[string]money.Pence{"OAT": 40, "SHOT": 60, "SYRUP": 50, "OWN_CUP": -30}
)

// Validate says in one sentence what is wrong with an order, or returns nil.
func Validate(o Order, now time.Time, replay bool) error {
	switch {
	case !keyCode.MatchString(o.IdempotencyKey):
		return errors.New("Idempotency-Key must be 32 hexadecimal digits")
	case !cafeCode.MatchString(o.Cafe):
		return fmt.Errorf("unknown café %q", o.Cafe)
	case len(o.Lines) == 0:
		return errors.New("an order needs at least one line")
	case len(o.Lines) > maxLines:
		return fmt.Errorf("%d lines, at most %d are allowed", len(o.Lines), maxLines)
	case o.LoyaltyToken != "" && !token.MatchString(o.LoyaltyToken):
		return errors.New("a loyalty token has 12 characters")
	case o.PlacedAt.After(now.Add(clockAhead)):
		return errors.New("placed in the future: check the clock of the till")
	case !replay && now.Sub(o.PlacedAt) > liveAge:
		return errors.New("older than 10 minutes and not marked as a replay")
	case now.Sub(o.PlacedAt) > replayAge:
		return errors.New("older than 8 h 30 min: enter it by hand")
	}
	var sum money.Pence
	for i, l := range o.Lines {
		if !skuCode.MatchString(l.SKU) {
			return fmt.Errorf("line %d: unknown product %q", i+1, l.SKU)
		}
		if l.Quantity < 1 || l.Quantity > maxQuantity {
			return fmt.Errorf("line %d: quantity %d is not 1 to %d", i+1, l.Quantity, maxQuantity)
		}
		unit := l.Unit
		for _, m := range l.Modifiers {
			price, known := modifierPrice[m]
			if !known || l.SKU[:2] != "DR" {
				return fmt.Errorf("line %d: modifier %q does not fit %s", i+1, m, l.SKU)
			}
			unit += price
		}
		sum += unit * money.Pence(l.Quantity)
	}
	if o.Discount < 0 || sum-o.Discount != o.Total {
		return fmt.Errorf("lines less discount give %s, the till says %s", sum-o.Discount, o.Total)
	}
	if o.Total > maxTotal {
		return fmt.Errorf("%s is above the limit of %s", o.Total, maxTotal)
	}
	return nil
}
