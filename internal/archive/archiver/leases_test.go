package archiver

import (
	"context"
	"errors"
	"testing"
)

// electing answers the first question with an error.
type electing struct {
	Cluster
	asked int
}

func (e *electing) TTL(context.Context, int64) (int64, error) {
	if e.asked++; e.asked <= 2 { // each reading asks twice
		return 0, errors.New("no leader")
	}
	return 60, nil
}

// During an election etcd returns no TTL. If the archiver did not read the lease again, a restore would give it an hour.
func TestALeaseThatCouldNotBeReadIsReadAgain(t *testing.T) {
	cluster := &electing{}
	l := newLeases(cluster)
	l.see(t.Context(), 7)
	if found, unknown := l.take(); len(found) != 0 || unknown != 1 {
		t.Fatalf("found %v, unknown %d", found, unknown)
	}
	l.see(t.Context(), 7)
	if found, _ := l.take(); len(found) != 1 || found[0].TTL != 60 {
		t.Errorf("after the election: %v", found)
	}
	l.see(t.Context(), 7)
	if found, _ := l.take(); len(found) != 0 || cluster.asked != 3 {
		t.Errorf("the lease was read again: %v, asked %d times", found, cluster.asked)
	}
}
