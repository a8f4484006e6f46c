package api

import (
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 1, 17, 10, 40, 0, 0, time.UTC)

func good() Order {
	return Order{
		IdempotencyKey: strings.Repeat("0a", 16),
		Cafe:           "C04",
		PlacedAt:       now.Add(-3 * time.Second),
		Lines: []Line{
			{SKU: "DR-104", Quantity: 2, Unit: 370, Modifiers: []string{"OAT"}},
			{SKU: "FD-203", Quantity: 1, Unit: 340},
		},
		Total: 1160,
	}
}

func TestGoodOrderPasses(t *testing.T) {
	if err := Validate(good(), now, false); err != nil {
		t.Fatal(err)
	}
}

func TestRefusals(t *testing.T) {
	cases := map[string]struct {
		change func(*Order)
		want   string
	}{
		"41 lines": {func(o *Order) {
			o.Lines = make([]Line, 41)
		}, "41 lines, at most 40"},
		"no lines":         {func(o *Order) { o.Lines = nil }, "at least one line"},
		"seed café":        {func(o *Order) { o.Cafe = "C99" }, "unknown café"},
		"quantity":         {func(o *Order) { o.Lines[0].Quantity = 25 }, "not 1 to 24"},
		"oat in a bun":     {func(o *Order) { o.Lines[1].Modifiers = []string{"OAT"} }, "does not fit FD-203"},
		"wrong total":      {func(o *Order) { o.Total = 1080 }, "the till says £10.80"},
		"short token":      {func(o *Order) { o.LoyaltyToken = "ABC" }, "12 characters"},
		"wholesale bag":    {func(o *Order) { o.Lines[0].SKU = "WS-501" }, "unknown product"},
		"clock in advance": {func(o *Order) { o.PlacedAt = now.Add(6 * time.Minute) }, "in the future"},
		"stale":            {func(o *Order) { o.PlacedAt = now.Add(-11 * time.Minute) }, "not marked as a replay"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := good()
			c.change(&o)
			err := Validate(o, now, false)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
		})
	}
}

// Written after the incident of 16 August 2025: what a till sold on its own
// has to be taken, however late the queue drains.
func TestReplayAfterALongOutage(t *testing.T) {
	o := good()
	o.PlacedAt = now.Add(-8*time.Hour - 29*time.Minute)
	if err := Validate(o, now, true); err != nil {
		t.Fatal(err)
	}
	o.PlacedAt = now.Add(-8*time.Hour - 31*time.Minute)
	if err := Validate(o, now, true); err == nil {
		t.Fatal("an order of 8 h 31 min must be entered by hand")
	}
}

func TestOwnCupTakesThirtyPenceOff(t *testing.T) {
	o := good()
	o.Lines = o.Lines[:1]
	o.Lines[0] = Line{SKU: "DR-109", Quantity: 1, Unit: 290, Modifiers: []string{"OWN_CUP"}}
	o.Total = 260
	if err := Validate(o, now, false); err != nil {
		t.Fatal(err)
	}
}
