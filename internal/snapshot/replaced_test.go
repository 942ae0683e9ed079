package snapshot_test

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// If this fails, a replaced snapshot is restored, or a good one is called replaced.
func TestAnObjectIsReplacedIfItsSHA256IsAnotherOne(t *testing.T) {
	saved, forged := strings.Repeat("0", 64), strings.Repeat("f", 64)
	for name, test := range map[string]struct {
		recorded, found string
		want            bool
	}{
		"another object":        {saved, forged, true},
		"the same object":       {saved, saved, false},
		"nothing was recorded":  {"", forged, false},
		"no SHA-256 recorded":   {"-", forged, false},
		"the object has no sum": {saved, "", false},
	} {
		if got := snapshot.Replaced(test.recorded, test.found); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
