package archiver

import (
	"context"
	"errors"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

// electing answers the first question with an error.
type electing struct {
	Cluster
	asked int
}

func (e *electing) TTL(context.Context, uint64, int64) (int64, error) {
	if e.asked++; e.asked <= 2 { // each reading asks twice
		return 0, errors.New("no leader")
	}
	return 60, nil
}

func see(t *testing.T, l *leases, id int64) {
	t.Helper()
	if err := l.see(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

// During an election etcd returns no TTL. If the archiver did not read the lease again, a restore would give it an hour.
func TestALeaseThatCouldNotBeReadIsReadAgain(t *testing.T) {
	cluster := &electing{}
	l := newLeases(cluster, 1, alone{})
	see(t, l, 7)
	if found, unknown := l.take(); len(found) != 0 || unknown != 1 {
		t.Fatalf("found %v, unknown %d", found, unknown)
	}
	see(t, l, 7)
	if found, _ := l.take(); len(found) != 1 || found[0].TTL != 60 {
		t.Errorf("after the election: %v", found)
	}
	see(t, l, 7)
	if found, _ := l.take(); len(found) != 0 || cluster.asked != 3 {
		t.Errorf("the lease was read again: %v, asked %d times", found, cluster.asked)
	}
}

// plain grants each lease for a minute.
type plain struct{ Cluster }

func (plain) TTL(context.Context, uint64, int64) (int64, error) { return 60, nil }

// Each key of an endless transaction has another lease, and the archiver remembers its TTL until the segment is sealed. That took all memory of
// backup-operator.
func TestARevisionWithTenTimesTheLeasesTakesBoundedMemory(t *testing.T) {
	l := newLeases(plain{}, 1, alone{})
	heaptest.Bound(t, 32, func() {
		var err error
		seen := 0
		for err == nil && seen < 20*maxLeases {
			seen++
			err = l.see(t.Context(), int64(seen))
		}
		if !errors.Is(err, errLeases) || seen != 2*maxLeases+1 || !l.many() {
			t.Errorf("error %v after %d leases", err, seen)
		}
	})
	if found, _ := l.take(); len(found) != 2*maxLeases || l.many() {
		t.Errorf("%d leases", len(found))
	}
	see(t, l, 1<<40) // the next segment
}
