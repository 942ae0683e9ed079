package archiving

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// TestAnArchiverWhoseAttemptsTakeLongHasFailed has a store that does not answer: each attempt to begin takes longer than an archiver must run
// to be called stable.
func TestAnArchiverWhoseAttemptsTakeLongHasFailed(t *testing.T) {
	counted, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	now := statetest.T0
	w := attempttest.NewWorld(t)
	w.Now = func() time.Time { return now }
	w.Open = func(context.Context, connect.Access) (objstore.Store, error) {
		now = now.Add(archiveStable + time.Second)
		return nil, errors.New("the store does not answer")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	told := make(chan struct{}, 10)
	a := &Archiver{notify: func() { told <- struct{}{} }, spec: *SpecOf(statetest.ArchivingState(t))}
	go func() {
		defer close(ended)
		(&runner{Clients: w.Clients, spool: w.Spool, metrics: counted}).run(ctx, a)
	}()
	<-told
	<-told
	cancel()
	<-ended
	if v := a.look(); v.Failures != 2 || v.Failure == nil || !v.Idle.Equal(statetest.T0) {
		t.Errorf("after two attempts of a minute: %d failures, idle since %s", v.Failures, v.Idle)
	}
}

func TestAnArchiverThatExtendsALostTimelineEnds(t *testing.T) {
	survey := archive.Survey{Names: []archive.Names{{Timeline: 1, Started: true}, {Timeline: 2}}, Startless: []archive.Timeline{2}}
	for name, test := range map[string]struct {
		survey archive.Survey
		now    archiver.Status
		want   error
	}{
		"the archiver extends the newest timeline":                     {archive.Survey{Names: survey.Names[:1]}, archiver.Status{Timeline: 1}, nil},
		"another archiver has begun the next timeline":                 {archive.Survey{Names: survey.Names}, archiver.Status{Timeline: 1}, archiver.ErrFenced},
		"the archiver begins the next timeline itself":                 {archive.Survey{Names: survey.Names}, archiver.Status{Timeline: 1, Blocked: true}, nil},
		"the archiver has begun a timeline since the archive was read": {archive.Survey{Names: survey.Names[:1]}, archiver.Status{Timeline: 2}, nil},
		"the start of the archiver's timeline was lost":                {survey, archiver.Status{Timeline: 2}, archive.ErrCorrupt},
		"the start of an older timeline was lost":                      {archive.Survey{Names: survey.Names, Startless: []archive.Timeline{1}}, archiver.Status{Timeline: 2}, nil},
		"the whole archive was moved away":                             {archive.Survey{}, archiver.Status{Timeline: 2}, nil},
	} {
		if err := astray(test.survey, test.now); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// Retention of another EtcdBackup, or its deletion, would make changes unrecoverable that the status lists.
func TestAnArchiveHasASnapshotOfItsOwn(t *testing.T) {
	w := attempttest.NewWorld(t)
	o := state.JobSpecOf(statetest.ArchivingState(t))
	base := archive.Base{Key: "k", ClusterID: "0000000000000abc", Point: archive.Point{Revision: 5, At: statetest.T0}}
	start := archive.NewStart(1, 0xabc, base, "test")
	if err := w.Store.Put(t.Context(), archive.StartKey(o.ArchiveRoot(), 1), objstore.NewMetadata(start.Encode())); err != nil {
		t.Fatal(err)
	}
	bases := []archive.Base{base}
	survey, err := archive.Look(t.Context(), w.Store, o.ArchiveRoot(), bases, rangesShown)
	if err != nil || !survey.Covered {
		t.Fatalf("%+v, error %v", survey, err)
	}
	for backup, want := range map[string]bool{"another": true, o.Name: false} {
		asked := make(chan struct{}, 1)
		a := &Archiver{notify: func() { asked <- struct{}{} }, turn: make(chan struct{}, 1)}
		k := &keeper{job: &runner{Clients: w.Clients, spool: w.Spool}, Archiver: a, asked: map[string]time.Time{}, survey: survey}
		k.known = catalog.Known{"k": catalog.Reading{Manifest: snapshot.Manifest{Backup: backup, Cluster: snapshot.Cluster{Namespace: o.Namespace, Name: o.Cluster}}}}
		k.cover(t.Context(), o, bases)
		if got := len(k.asked) > 0; got != want {
			t.Errorf("with a snapshot of EtcdBackup %s, it asks for another one: %t, want %t", backup, got, want)
		}
		if want {
			<-asked
		}
	}
}

// A week of snapshots every five minutes is more than a thousand. The archive before them was neither restorable nor deleted.
func TestAllSnapshotsOfTheWindowAreBases(t *testing.T) {
	const window = 168 * time.Hour
	var items []catalog.Item
	for i := range 3000 {
		at := statetest.T0.Add(-time.Duration(i) * 5 * time.Minute)
		items = append(items, catalog.Item{Time: at, Stored: at})
	}
	got := needed(items, window)
	old := func(i catalog.Item) bool { return statetest.T0.Sub(i.Stored) >= window }
	if !slices.ContainsFunc(got, old) {
		t.Errorf("of 3000 snapshots %d are bases, and none is older than the window", len(got))
	}
	if n := len(needed(items, time.Hour)); n > 1000+13 {
		t.Errorf("with a window of an hour, %d snapshots are read", n)
	}
}

func TestAnArchiveIsLookedAtAgainAfterAnEtcdBackupWasDeleted(t *testing.T) {
	key := worker.Key{Object: types.NamespacedName{Namespace: "ns", Name: "b"}, UID: "1"}
	p := New(func(ctx context.Context, _ *Archiver) { <-ctx.Done() }, nil)
	p.Set(key, &Spec{})
	defer p.Set(key, nil)
	p.ForgetOthers(types.NamespacedName{Namespace: "elsewhere", Name: "c"}, "")
	if len(p.known[key].news) > 0 {
		t.Error("the archive is surveyed for an EtcdBackup of another namespace")
	}
	p.ForgetOthers(types.NamespacedName{Namespace: "ns", Name: "c"}, "")
	if len(p.known[key].news) != 1 {
		t.Error("the status still lists what may have been deleted with another EtcdBackup")
	}
}
