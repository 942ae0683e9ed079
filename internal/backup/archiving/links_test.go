package archiving

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// TestASnapshotIsTakenBeforeTooManySegmentsFollowTheLastOne has a series whose schedule is too rare for the number of its segments.
func TestASnapshotIsTakenBeforeTooManySegmentsFollowTheLastOne(t *testing.T) {
	p := New(nil, nil)
	a := &Archiver{key: worker.Key{Object: types.NamespacedName{Name: "b"}}, notify: func() {}, news: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
	p.known[a.key] = a
	now := statetest.T0
	k := &keeper{job: &runner{Clients: &clients.Clients{Now: func() time.Time { return now }}}, Archiver: a, asked: map[string]time.Time{}, surveyed: true}
	k.survey = archive.Survey{Covered: true, Following: archive.MaxLinks/2 - 10}
	k.seen = archiver.Status{Segments: 5}
	k.limitLinks(t.Context(), archiver.Status{Segments: 14})
	if want := a.look().Want; want != "" {
		t.Fatalf("with %d segments it asks for a snapshot: %s", archive.MaxLinks/2-1, want)
	}
	k.limitLinks(t.Context(), archiver.Status{Segments: 15})
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); a.look().Want == "" && time.Now().Before(deadline); {
		<-tick.C
	}
	want := a.look().Want
	if !strings.Contains(want, "segments") {
		t.Fatalf("with %d segments it asks for %q", archive.MaxLinks/2, want)
	}
	p.Give(a.key, want, archive.Base{})
	k.survey.Following, k.seen = 0, archiver.Status{Segments: 15}
	k.limitLinks(t.Context(), archiver.Status{Segments: 16})
	if want := a.look().Want; want != "" {
		t.Errorf("right after the snapshot it asks for another one: %s", want)
	}
}

func TestALongerWindowStopsTheDeletionForTheShorterOne(t *testing.T) {
	a := &Archiver{}
	k := &keeper{Archiver: a, window: time.Hour}
	a.spec.job.Keep.Window = time.Hour
	if k.changed(archiver.Status{}) {
		t.Error("without a change, the archive is looked at again")
	}
	if a.spec.job.Keep.Window = 24 * time.Hour; !k.changed(archiver.Status{}) {
		t.Error("the operator goes on to delete what was outdated for the shorter window")
	}
}
