// Package labels draws the labels of roasted coffee.
package labels

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// dotsPerMM is the resolution of both printers, 203 dots an inch.
const dotsPerMM = 8

// notesLength is what fits in one row of the tasting notes; longer ones are cut.
const notesLength = 46

// Size of a label in millimetres.
type Size struct{ Width, Height int }

// The two rolls in the roastery.
var (
	Small = Size{84, 120}  // 250 g bags, printer starboard
	Large = Size{100, 150} // 1 kg bags, printer port
)

// Field is one piece of text with its place in millimetres from the upper left corner.
type Field struct {
	X, Y   int
	Height int // of the letters
	Text   string
}

// Label is ready to be printed.
type Label struct {
	Size   Size
	Fields []Field
	Lot    string
}

var lotCode = regexp.MustCompile(`^([0-9]{6})([BM])([0-9]{2})$`)

var names = map[string]string{
	"BN-301": "Foghorn Espresso", "BN-302": "Slack Tide Decaf", "BN-303": "Ropewalk Filter",
	"BN-304": "Ethiopia Guji Halo", "BN-305": "Colombia Huila La Pradera", "BN-306": "Guatemala Cumbre Alta",
	"BN-307": "Kenya Nyeri Gatumbi", "BN-308": "Brazil Boa Maré",
	"WS-501": "Foghorn", "WS-502": "Slack Tide", "WS-503": "Ropewalk Filter", "WS-504": "Single origin",
}

// New builds the label of a bag. The day of roasting is taken from the lot
// code and from nowhere else, so that the two can never disagree.
func New(lot, sku string) (Label, error) {
	match := lotCode.FindStringSubmatch(lot)
	if match == nil {
		return Label{}, fmt.Errorf("%q is not a lot code like 251203M07", lot)
	}
	roasted, err := time.Parse("060102", match[1])
	if err != nil {
		return Label{}, fmt.Errorf("lot %s: %w", lot, err)
	}
	name, ok := names[sku]
	if !ok {
		return Label{}, fmt.Errorf("no label for %s", sku)
	}
	size, weight, step := Small, "250 g", 0
	if strings.HasPrefix(sku, "WS-") {
		size, weight, step = Large, "1 kg", 8
	}
	const day = "2 Jan 2006"
	l := Label{Size: size, Lot: lot, Fields: []Field{
		{6, 8, 7, name},
		{6, 20 + step, 4, weight + " e"}, // the e of the weights rules, at least 3 mm high
		{6, 62 + step, 3, "Roasted " + roasted.Format(day)},
		{6, 68 + step, 3, "Best from " + BestFrom(roasted, sku).Format(day)},
		{6, 74 + step, 3, "Best before " + BestBefore(roasted).Format(day)},
		{size.Width - 34, 62 + step, 5, lot},
		// Again under the barcode: packers fold the upper edge over.
		{6, size.Height - 6, 2, lot},
	}}
	return l, nil
}

// WithNotes adds the tasting notes, cut to one row.
func (l Label) WithNotes(notes string) Label {
	if letters := []rune(notes); len(letters) > notesLength {
		notes = string(letters[:notesLength])
	}
	l.Fields = append(l.Fields[:len(l.Fields):len(l.Fields)], Field{6, 32, 3, notes})
	return l
}

// Commands writes the label in the printer's language.
func (l Label) Commands(copies int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "^XA^PW%d^LL%d\n", l.Size.Width*dotsPerMM, l.Size.Height*dotsPerMM)
	for _, f := range l.Fields {
		fmt.Fprintf(&out, "^FO%d,%d^A0N,%d^FD%s^FS\n", f.X*dotsPerMM, f.Y*dotsPerMM, f.Height*dotsPerMM, f.Text)
	}
	fmt.Fprintf(&out, "^FO%d,%d^BCN,%d,N^FD%s^FS\n", 6*dotsPerMM, (l.Size.Height-22)*dotsPerMM, 14*dotsPerMM, l.Lot)
	fmt.Fprintf(&out, "^PQ%d^XZ\n", copies)
	return out.String()
}
