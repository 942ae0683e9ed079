package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
)

// The clock of backup-operator was wrong, so the times of the archive are. A user chooses the second before a mistake. Without a word, the restore has
// the mistake in it if the clock was behind, or lacks minutes of good changes if it was ahead.
func TestARestoreToATimeSaysThatTheClocksDiffered(t *testing.T) {
	for name, test := range map[string]struct {
		stored time.Duration // when the store received each segment, after the last change in it
		says   string
	}{
		"the clocks agree":     {5 * time.Second, ""},
		"the clock was behind": {12*time.Minute + 5*time.Second, "the point has changes of up to 12m5s after the chosen time"},
		"the clock was ahead":  {-12 * time.Minute, "12m0s ahead of the clock of the store, so the point lacks changes of up to 12m0s before"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			key := s.saved("a", 1, 1)
			s.timeline(1, key, 2, 20, "")
			began := dawn.Add(time.Hour)
			for i, link := range s.links(1) {
				at := began.Add(time.Duration(3+i)*time.Minute + test.stored)
				if err := os.Chtimes(filepath.Join(s.bucket, link), at, at); err != nil {
					t.Fatal(err)
				}
			}
			p, err := s.point(Choice{Time: began.Add(9*time.Minute + 30*time.Second).Format(time.RFC3339)}, archive.Progress{})
			if err != nil || p.Reached.Revision != 9 {
				t.Fatalf("%s, %v", p.Reached, err)
			}
			if why := p.Because(); !strings.Contains(why, test.says) || strings.Contains(why, "the clock of backup-operator") != (test.says != "") {
				t.Errorf("the restore says %q, want %q", why, test.says)
			}
			p, err = s.point(Choice{Revision: 9}, archive.Progress{})
			if err != nil || strings.Contains(p.Because(), "the clock of backup-operator") {
				t.Errorf("a revision depends on no clock: %q, %v", p.Because(), err)
			}
		})
	}
}
