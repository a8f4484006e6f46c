package money

import "testing"

func TestString(t *testing.T) {
	for amount, want := range map[Pence]string{
		370: "£3.70", 5: "£0.05", -30: "-£0.30", 0: "£0.00", 123456: "£1234.56",
	} {
		if got := amount.String(); got != want {
			t.Errorf("%d: got %s, want %s", int64(amount), got, want)
		}
	}
}

func TestSplitStandardRate(t *testing.T) {
	cases := []struct{ gross, net, vat Pence }{
		{370, 308, 62},   // flat white: 61.67 rounds up
		{260, 217, 43},   // espresso: 43.33 rounds down
		{450, 375, 75},   // espresso tonic: exact
		{3, 2, 1},        // 0.5 goes up
		{-370, -308, -62}, // the refund of the flat white
	}
	for _, c := range cases {
		net, vat := Split(c.gross, Standard)
		if net != c.net || vat != c.vat {
			t.Errorf("%s: got %s and %s", c.gross, net, vat)
		}
	}
}

func TestSplitZeroRateKeepsEverything(t *testing.T) {
	if net, vat := Split(950, Zero); net != 950 || vat != 0 {
		t.Fatalf("nothing may be taken off, got %s and %s", net, vat)
	}
}

func TestSplitReducedRate(t *testing.T) {
	// 5% was used from July 2020 to September 2021 and old receipts are still read.
	if net, vat := Split(210, Reduced); net != 200 || vat != 10 {
		t.Fatalf("got %s and %s", net, vat)
	}
}

func TestShareLosesNothing(t *testing.T) {
	got, err := Share(100, []int64{370, 370, 340})
	if err != nil {
		t.Fatal(err)
	}
	want := []Pence{35, 34, 31}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func TestShareSkipsFreeLines(t *testing.T) {
	got, err := Share(5, []int64{0, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	if got[0] != 0 || got[1] != 3 || got[2] != 2 {
		t.Fatalf("a free drink takes no discount, got %v", got)
	}
}

func TestShareRefusesOnlyFreeLines(t *testing.T) {
	if _, err := Share(5, []int64{0, 0}); err == nil {
		t.Fatal("no line can bear the discount")
	}
}
