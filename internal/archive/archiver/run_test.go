package archiver

import (
	"testing"
	"time"
)

// A change already has an age when the archiver receives it. If that did not count, a write older than maxLag could be
// lost.
func TestASegmentIsSealedBeforeItsFirstChangeIsAsOldAsMaxLag(t *testing.T) {
	for _, maxLag := range []time.Duration{time.Second, 5 * time.Second, time.Minute} {
		a := New(Options{MaxLag: maxLag})
		if oldest := Transit + a.sealAge() + a.sealInterval(); oldest > maxLag {
			t.Errorf("maxLag %s: the oldest change of a segment is %s old when the segment is sealed", maxLag, oldest)
		}
		if a.sealAge() < maxLag*9/10 {
			t.Errorf("maxLag %s: a segment is sealed after %s already, which costs more requests", maxLag, a.sealAge())
		}
	}
}
