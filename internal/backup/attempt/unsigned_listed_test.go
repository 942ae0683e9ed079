package attempt_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// A user who can write to the bucket wrote a hundred manifests without a signature. The status listed ten of these, as snapshots of the EtcdBackup, and none of its
// signed ones but the last.
func TestTheStatusListsSignedSnapshotsWhateverOthersWrite(t *testing.T) {
	for _, forged := range []int{3, 100} {
		w := newSigningWorld(t, signingSecret(t))
		given := statetest.Series(statetest.Keep(20))
		saved := w.Attempt(given)
		before := saved.Snapshot.Path
		var signed []string
		for hour := range 4 {
			w.Now = statetest.At(statetest.T0.Add(time.Duration(hour+1) * time.Hour))
			if hour == 3 {
				for i := range forged {
					forge(t, w, strings.TrimPrefix(signed[0], "bucket/"), statetest.T0.Add(3*time.Hour+time.Duration(i+1)*10*time.Second))
				}
			}
			if saved = w.Attempt(statetest.Series(statetest.Keep(20), signs)); saved.Failure != nil {
				t.Fatal(saved.Failure)
			}
			signed = append(signed, saved.Snapshot.Path)
		}
		slices.Reverse(signed)
		var listed []string
		for _, s := range saved.Kept {
			listed = append(listed, s.Path)
		}
		if forged < 10 { // else the snapshot from before the snapshots were signed is not read any more
			signed = append(signed, before)
		}
		if !slices.Equal(listed, signed) {
			t.Errorf("%d forged: listed %q, want %q", forged, listed, signed)
		}
	}
}

// The status of a series is lost, and somebody has written a snapshot without a signature that is newer than the operator's own. The operator still finds its own,
// and takes no other one.
func TestAnUnsignedSnapshotHidesNoSignedOneWhenTheStatusIsLost(t *testing.T) {
	w := newSigningWorld(t, signingSecret(t))
	first := w.Attempt(statetest.Series(signs))
	forge(t, w, strings.TrimPrefix(first.Snapshot.Path, "bucket/"), statetest.T0.Add(5*time.Minute))
	w.Now = statetest.At(statetest.T0.Add(10 * time.Minute))
	if r := w.Attempt(statetest.Series(signs)); !r.Found || r.Snapshot.Path != first.Snapshot.Path {
		t.Errorf("found %t: %+v", r.Found, r.Snapshot)
	}
}
