package refund

import (
	"errors"
	"testing"
	"time"

	"code.int.brackmouthcoffee.example/order-api/internal/money"
)

func at(text string) time.Time {
	moment, err := time.ParseInLocation("2006-01-02 15:04", text, london)
	if err != nil {
		panic(err)
	}
	return moment
}

func sale() Sale {
	return Sale{PlacedAt: at("2026-01-05 06:35"), Paid: 1160}
}

func ask(amount money.Pence, why Reason) Request {
	return Request{Amount: amount, Reason: why, By: "E054"}
}

func TestLastDayCountsWhole(t *testing.T) {
	if err := Check(sale(), ask(370, Quality), at("2026-01-19 20:00")); err != nil {
		t.Fatal(err)
	}
	if err := Check(sale(), ask(370, Quality), at("2026-01-20 00:01")); !errors.Is(err, ErrTooLate) {
		t.Fatalf("got %v", err)
	}
}

func TestDoubleChargeHasNinetyDays(t *testing.T) {
	if err := Check(sale(), ask(1160, DoubleCharge), at("2026-04-05 12:00")); err != nil {
		t.Fatal(err)
	}
	if err := Check(sale(), ask(1160, DoubleCharge), at("2026-04-06 12:00")); !errors.Is(err, ErrTooLate) {
		t.Fatalf("got %v", err)
	}
}

func TestClockChangeDoesNotShortenTheWindow(t *testing.T) {
	s := Sale{PlacedAt: at("2026-03-20 17:50"), Paid: 2200}
	if err := Check(s, ask(2200, ChangeOfMind), at("2026-04-03 23:30")); err != nil {
		t.Fatal(err)
	}
}

func TestNotMoreThanWasPaid(t *testing.T) {
	s := sale()
	s.Refunded = 900
	if err := Check(s, ask(260, WrongItem), at("2026-01-06 09:00")); err != nil {
		t.Fatal(err)
	}
	if err := Check(s, ask(261, WrongItem), at("2026-01-06 09:00")); !errors.Is(err, ErrTooMuch) {
		t.Fatalf("got %v", err)
	}
}

func TestIncompleteRequests(t *testing.T) {
	for name, r := range map[string]Request{
		"no employee":    {Amount: 370, Reason: Quality},
		"unknown reason": {Amount: 370, Reason: "RUDE", By: "E054"},
		"nothing":        {Amount: 0, Reason: Quality, By: "E054"},
		"negative":       {Amount: -370, Reason: Quality, By: "E054"},
	} {
		if Check(sale(), r, at("2026-01-06 09:00")) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
