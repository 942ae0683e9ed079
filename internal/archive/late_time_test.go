package archive

import (
	"bufio"
	"bytes"
	"errors"
	"testing"
	"time"
)

// Such a time has the year 10000 in UTC, which JSON cannot have. A standby that had applied such a link could not record its promotion, so its data was not
// served any more. No status could have it either.
func TestATimeThatNoStatusCanHaveIsCorrupt(t *testing.T) {
	late := time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -3600))
	if _, err := late.UTC().MarshalJSON(); err == nil {
		t.Fatal("JSON can have it")
	}
	h := Header{
		FormatVersion: 1, Kind: kindGap, Timeline: 1, First: 5, Last: 9, Points: Points{{Revision: 9, At: late}},
	}
	key := LinkKey("root", 1, late, 5)
	name := Name{timeline: 1, first: 5}
	if _, err := decodeHeader(bufio.NewReader(bytes.NewReader(h.Encode())), key, name); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a header: error %v", err)
	}
	s := NewStart(1, 7, Base{Point: Point{Revision: 4, At: late}}, "test")
	if _, err := DecodeStart(bytes.NewReader(s.Encode()), "start", 1); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a start: error %v", err)
	}
}
