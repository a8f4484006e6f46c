// Package refund decides whether money may go back to a guest.
package refund

import (
	"errors"
	"fmt"
	"time"

	"code.int.brackmouthcoffee.example/order-api/internal/money"
)

// Reason is the button pressed on the till.
type Reason string

// The five buttons. CHANGE_OF_MIND is for unopened beans and merchandise; for
// a drink the till does not offer it.
const (
	WrongItem    Reason = "WRONG_ITEM"
	Quality      Reason = "QUALITY"
	Allergen     Reason = "ALLERGEN"
	DoubleCharge Reason = "DOUBLE_CHARGE"
	ChangeOfMind Reason = "CHANGE_OF_MIND"
)

// Days after the sale on which a refund is still possible. A double charge is
// our own mistake, so it may be undone for as long as Cordline Pay keeps the
// original authorisation.
var windowDays = map[Reason]int{
	WrongItem: 14, Quality: 14, Allergen: 14, ChangeOfMind: 14, DoubleCharge: 90,
}

var (
	// ErrTooLate is returned after the window has closed.
	ErrTooLate = errors.New("the refund window has closed")
	// ErrTooMuch is returned when more would go back than was paid.
	ErrTooMuch = errors.New("more than what is left of the payment")
)

// Sale is what the decision needs to know of an order.
type Sale struct {
	PlacedAt time.Time
	Paid     money.Pence
	Refunded money.Pence
}

// Request is what the till asks for.
type Request struct {
	Amount money.Pence `json:"amount_pence"`
	Reason Reason      `json:"reason"`
	By     string      `json:"by"` // employee id, E001…
}

var london = mustLoad("Europe/London")

func mustLoad(name string) *time.Location {
	place, err := time.LoadLocation(name)
	if err != nil {
		panic(err) // the build embeds the zone files; without them nothing is right
	}
	return place
}

// Check returns nil when the refund may be paid.
func Check(s Sale, r Request, now time.Time) error {
	days, known := windowDays[r.Reason]
	if !known {
		return fmt.Errorf("unknown reason %q", r.Reason)
	}
	if r.By == "" {
		return errors.New("a refund needs the id of the employee who gives it")
	}
	if r.Amount <= 0 {
		return fmt.Errorf("a refund of %s is none", r.Amount)
	}
	if left := s.Paid - s.Refunded; r.Amount > left {
		return fmt.Errorf("%w: %s left", ErrTooMuch, left)
	}
	if now.After(LastMoment(s.PlacedAt, days)) {
		return fmt.Errorf("%w: %d days after %s", ErrTooLate, days, s.PlacedAt.In(london).Format("2 January 2006"))
	}
	return nil
}

// LastMoment is the end of the last day of the window. Days are counted in
// Brackmouth's time and the last one counts whole, so a guest who bought at
// 06:35 may come back at closing time.
func LastMoment(placed time.Time, days int) time.Time {
	y, m, d := placed.In(london).Date()
	return time.Date(y, m, d+days+1, 0, 0, 0, 0, london).Add(-time.Second)
}
