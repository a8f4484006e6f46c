package labels

import (
	"strings"
	"testing"
	"time"
)

func day(text string) time.Time {
	d, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return d
}

func TestBestBefore(t *testing.T) {
	for roasted, want := range map[string]string{
		"2025-12-03": "2026-09-03",
		"2025-05-31": "2026-02-28", // no 31st in February
		"2027-05-30": "2028-02-29", // leap year
		"2025-01-31": "2025-10-31",
		"2024-11-30": "2025-08-30", // the date that v1.3.0 put into the wrong year
	} {
		if got := BestBefore(day(roasted)).Format(time.DateOnly); got != want {
			t.Errorf("%s: got %s, want %s", roasted, got, want)
		}
	}
}

func TestRest(t *testing.T) {
	for sku, want := range map[string]int{
		"BN-301": 7, "BN-302": 7, "WS-501": 7, "BN-303": 4, "BN-304": 4, "BN-308": 4, "WS-504": 4,
	} {
		if got := RestDays(sku); got != want {
			t.Errorf("%s: got %d days, want %d", sku, got, want)
		}
	}
}

func TestMaySend(t *testing.T) {
	roasted := day("2026-01-12")
	cases := []struct {
		sku, on string
		want    bool
	}{
		{"BN-301", "2026-01-17", false},
		{"BN-301", "2026-01-18", true},
		{"BN-303", "2026-01-14", false},
		{"BN-303", "2026-01-15", true},
		{"WS-501", "2026-01-12", true},
		{"WS-501", "2026-01-11", false},
	}
	for _, c := range cases {
		if got := MaySend(roasted, c.sku, day(c.on)); got != c.want {
			t.Errorf("%s on %s: got %v", c.sku, c.on, got)
		}
	}
}

func TestLabelTakesTheDayFromTheLot(t *testing.T) {
	label, err := New("251203M07", "BN-301")
	if err != nil {
		t.Fatal(err)
	}
	text := label.Commands(40)
	for _, want := range []string{"Roasted 3 Dec 2025", "Best from 10 Dec 2025", "Best before 3 Sep 2026", "^PW672", "^PQ40"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestWrongLots(t *testing.T) {
	for _, lot := range []string{"251203X07", "251303M07", "25120M07", "251203m07"} {
		if _, err := New(lot, "BN-301"); err == nil {
			t.Errorf("%s: accepted", lot)
		}
	}
}
