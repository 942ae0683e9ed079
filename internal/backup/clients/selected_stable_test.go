package clients

import (
	"slices"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// A cluster was recovered to revision 305 and has the revisions up to 340 again. An EtcdRestore to revision 350 needs the history before, which begins with the
// snapshot at 315. What the EtcdRestore may not choose was deleted, and with it the snapshot at 310, without which 315 seems to be one of the history after the
// recovery. So the next pass deleted 315, too.
func TestTheChoicesAreTheSameAfterAllOthersAreDeleted(t *testing.T) {
	series := snapshot.Series{Namespace: "ns", Cluster: "c", ClusterID: 1}
	var names []string
	for hour, revision := range []int64{290, 300, 315, 480, 310, 320, 330, 340} {
		names = append(names, series.Key(time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC), revision))
	}
	s := Selection{revision: 350, Point: true}
	first := s.Choices(names)
	if !slices.Contains(first, names[2]) {
		t.Fatalf("%s is not among %q", names[2], first)
	}
	for _, key := range first {
		if left := s.Choices(first); !slices.Contains(left, key) {
			t.Errorf("%s may be chosen, and is deleted once the others are", key)
		}
	}
}
