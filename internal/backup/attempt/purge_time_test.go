package attempt_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// slowDeletions is a store that needs some time for each deletion.
type slowDeletions struct {
	*objstoretest.Memory
	each time.Duration
}

func (s slowDeletions) Delete(ctx context.Context, key string) error {
	<-time.After(s.each)
	return s.Memory.Delete(ctx, key)
}

// An EtcdBackup with deletionPolicy Delete has many snapshots, or a large archive. The operator waits for their deletion for a limited time, and then
// releases the EtcdBackup. What is left then stays in the bucket, and the user pays for it, although the spec asked for its deletion. One name at a
// time, the operator deleted a tenth of it.
func TestALargeSeriesAndItsArchiveAreDeletedInTime(t *testing.T) {
	const many = 20_000
	series := snapshot.Series{Folder: "f", Namespace: "ns", Cluster: "c", ClusterID: 1}
	o := state.JobSpec{Namespace: "ns", Cluster: "c", UID: "uid"}
	o.Target.Key = "f"
	for what, purge := range map[string]func(s slowDeletions) error{
		"a series": func(s slowDeletions) error {
			var names []string
			for i := range many {
				key := series.Key(statetest.T0.Add(time.Duration(i)*time.Minute), int64(i))
				names = append(names, key, snapshot.ManifestKey(key))
				s.Place(key, nil)
				s.Place(snapshot.ManifestKey(key), nil)
			}
			n, err := attempt.PurgeSnapshots(t.Context(), s, names)
			if n != many {
				t.Errorf("%d snapshots are deleted", n)
			}
			return err
		},
		"an archive": func(s slowDeletions) error {
			start := archive.NewStart(1, 1, archive.Base{Point: archive.Point{Revision: 1, At: statetest.T0}}, "test")
			start.Writer = "uid"
			s.Place(archive.StartKey(o.ArchiveRoot(), 1), start.Encode())
			names := archive.Names{Timeline: 1, Started: true}
			for i := range 2 * many {
				names.Links = append(names.Links, archive.NameOf(1, statetest.T0, int64(2+i)))
				s.Place(archive.LinkKey(o.ArchiveRoot(), 1, statetest.T0, int64(2+i)), nil)
			}
			return attempt.PurgeTimeline(t.Context(), o, s, names, nil)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := slowDeletions{Memory: objstoretest.NewMemory(), each: 100 * time.Millisecond}
			begin := time.Now()
			if err := purge(s); err != nil || len(s.Keys()) > 0 {
				t.Errorf("%s: %d objects are left, %v", what, len(s.Keys()), err)
			}
			if took := time.Since(begin); took > plan.PurgeLimit {
				t.Errorf("%s takes %s, and the operator waits for %s", what, took, plan.PurgeLimit)
			}
		})
	}
}

// A refused object of one snapshot keeps its manifest, and ends no deletion of others.
func TestALockedSnapshotIsKeptWholeWhenASeriesIsDeleted(t *testing.T) {
	m := objstoretest.NewMemory()
	series := snapshot.Series{Folder: "f", Namespace: "ns", Cluster: "c", ClusterID: 1}
	var names, locked []string
	for i := range 100 {
		key := series.Key(statetest.T0.Add(time.Duration(i)*time.Minute), int64(i))
		names = append(names, key, snapshot.VerdictKey(key, snapshot.Passed), snapshot.ManifestKey(key))
		if i%10 == 3 {
			m.Set(key, objstoretest.Locked)
			locked = append(locked, names[len(names)-3:]...)
		}
	}
	for _, name := range names {
		m.Place(name, nil)
	}
	n, err := attempt.PurgeSnapshots(t.Context(), m, names)
	if err == nil || n != 90 || len(m.Keys()) != len(locked) {
		t.Errorf("%d are deleted, %d names are left of %d that are locked, %v", n, len(m.Keys()), len(locked), err)
	}
}
