package backup

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/etcd/watch"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// The largest change that an archive may have must fit into what one namespace may use. Otherwise it waits for ever.
func TestTheLargestChangeFitsIntoTheShareOfANamespace(t *testing.T) {
	if largeChanges.Most() < watch.Largest {
		t.Errorf("one namespace has %d MiB, and one change takes %d MiB", largeChanges.Most()>>20, watch.Largest>>20)
	}
}

// An archive stood still, and its status did not show that the memory was in use.
func TestTheStatusShowsWhyALargeChangeWaits(t *testing.T) {
	budget := turns.NewBudget(80 << 20)
	budget.Take("ns", 60<<20)
	_, err := admitChange(budget, "ns", time.Millisecond)(t.Context(), 30<<20)
	failure := classifyArchive(ofMembers(err), jobSpec{})
	if err == nil || failure.Reason != v1beta2.ReasonRetrying || !strings.Contains(failure.Message, "this namespace uses as much") || !strings.Contains(failure.Message, "30 MiB") {
		t.Errorf("the failure is %+v of %v", failure, err)
	}
	if budget.Used() != 60<<20 {
		t.Errorf("%d bytes are in use", budget.Used())
	}
}

// A namespace with hundreds of EtcdBackups connected to its own servers in all of them, although there were places for a few.
func TestAnArchiverWithoutAPlaceConnectsToNoMember(t *testing.T) {
	w := newWorld(t)
	w.spool = spool.New(t.TempDir(), spool.Options{Limit: archiveSpool})
	a := &archiving{turn: make(chan struct{}, 1), news: make(chan struct{}, 1), spec: *archiveOf(archivingState(t))}
	asked := 0
	w.probe = func(context.Context, []string, ask.Access) []ask.Answer { asked++; return nil }
	if err := (&archiveJob{job: w.job}).once(t.Context(), a); !errors.Is(err, spool.ErrTooSmall) {
		t.Errorf("error %v, want that there is no place", err)
	}
	if asked > 0 {
		t.Errorf("the members are asked %d times", asked)
	}
}
