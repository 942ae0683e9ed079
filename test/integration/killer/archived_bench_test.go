package killer_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/backup"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// archived is a cluster whose history backup-operator archives. Both operators are real, and so are the members and the store.
type archived struct {
	*bench
	*archivedState
}

type archivedState struct {
	store   *store
	objects objstore.Store
	series  *v1beta2.EtcdBackup
	spool   string
	stop    func() // backup-operator
	records []kept
}

// kept is what the live cluster had at a revision.
type kept struct {
	revision, compacted int64
	hash                uint32
	timeline            archive.Timeline // that had it then
	at                  time.Time        // when all of it was archived, and nothing after it was written
}

const folder = "archived"

// newArchived forms a cluster, and begins its archive.
func newArchived(t *testing.T, spec v1beta2.EtcdClusterSpec) *archived {
	b := newBench(t, spec)
	a := &archived{b, &archivedState{store: newStore(t), spool: t.TempDir()}}
	kubetest.Create(t, b.cluster, a.store.secret(b.cluster.Namespace))
	b.operate(&killer.Count{}, "form a cluster", b.isReady)
	var err error
	a.objects, err = connect.Open(t.Context(), connect.Access{
		Location: storage.Location{Provider: v1beta2.StorageS3, Bucket: bucket, Endpoint: a.store.server.Endpoint, Region: a.store.server.Region, ForcePathStyle: true},
		Data:     a.store.data(),
	})
	if err != nil {
		t.Fatal(err)
	}
	a.series = &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: b.cluster.Namespace, Name: "continuous"}}
	a.series.Spec = v1beta2.EtcdBackupSpec{
		EtcdCluster: &v1beta2.ClusterReference{Name: b.cluster.Name}, StorageType: v1beta2.StorageS3,
		BackupPolicy: &v1beta2.BackupPolicy{Schedule: "0 0 1 1 *"}, Continuous: &v1beta2.ContinuousArchive{MaxLag: "1s"},
		Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: bucket + "/" + folder, AWSSecret: "aws", Endpoint: a.store.server.Endpoint, ForcePathStyle: true}},
	}
	kubetest.Create(t, a.series)
	a.start()
	return a
}

// start starts backup-operator.
func (a *archived) start() {
	a.stop = kubetest.RunManager(a.pods.Test(), a.cluster.Namespace, func(_ context.Context, mgr manager.Manager) error {
		return backup.Setup(mgr, backup.Options{SpoolDir: a.spool, Try: kubetest.TryHere, MaxConcurrent: 2, Metrics: prometheus.NewRegistry()})
	})
}

// in runs one operation as a subtest.
func (a *archived) in(name string, do func(*archived)) {
	a.Helper()
	a.step(name, func(b *bench) { do(&archived{b, a.archivedState}) })
}

// histories returns what the store has.
func (a *archived) histories(ctx context.Context) ([]archive.History, error) {
	return archive.Read(ctx, a.objects, archive.Root(folder, a.cluster.Namespace, a.cluster.Name))
}

// hash returns the revision of the cluster and what it has there. No client may write.
func (a *archived) hash() (r kept) {
	a.Helper()
	leader := a.leader().Name
	for _, pod := range a.list() {
		if pod.Name != leader {
			continue
		}
		err := a.ask(pod, func(member *etcd.Client) error {
			status, err := member.Status(a.Context())
			if err == nil {
				r.revision = status.Revision
				r.hash, r.compacted, err = member.HashKV(a.Context(), r.revision)
			}
			return err
		})
		if err != nil {
			a.Fatal(err)
		}
	}
	return r
}

// record waits until the archive has all that the cluster has, and records it.
func (a *archived) record() (r kept) {
	a.Helper()
	a.traffic.paused(func() {
		r = a.hash()
		kubetest.Eventually(a, fmt.Sprintf("revision %d is archived", r.revision), func(ctx context.Context) error {
			histories, err := a.histories(ctx)
			if err != nil || len(histories) == 0 {
				return errors.Join(errors.New("there is no archive"), err)
			}
			newest := histories[len(histories)-1]
			last := newest.Start.Base.Revision
			for _, l := range newest.Links {
				last = l.Header.Last
			}
			if r.timeline = newest.Start.Timeline; last != r.revision {
				return fmt.Errorf("timeline %d ends with revision %d", r.timeline, last)
			}
			return nil
		})
		r.at = time.Now()
	})
	a.records = append(a.records, r)
	return r
}

// ranges stops the archive, and returns what the status then says can be restored.
func (a *archived) ranges() []v1beta2.RecoverableRange {
	a.Helper()
	last := a.records[len(a.records)-1]
	before := a.series.DeepCopy()
	a.series.Spec.BackupPolicy.Suspend = true
	if err := a.client.Patch(a.Context(), a.series, client.MergeFrom(before)); err != nil {
		a.Fatal(err)
	}
	kubetest.Await(a, a.series, fmt.Sprintf("report revision %d as recoverable", last.revision), func(s *v1beta2.EtcdBackup) bool {
		n := len(s.Status.Recoverable)
		return n > 0 && s.Status.Recoverable[n-1].Timeline == int64(last.timeline) && s.Status.Recoverable[n-1].To.Revision >= last.revision
	})
	if proof := a.series.Status.LastArchiveProof; proof != nil && proof.Result == v1beta2.ProofFailed {
		a.Errorf("the proof of the archive failed: %+v", proof)
	}
	return a.series.Status.Recoverable
}

// archiving waits until the condition Archiving is True.
func (a *archived) archiving() {
	a.Helper()
	kubetest.AwaitCondition(a, a.series, func(s *v1beta2.EtcdBackup) []metav1.Condition { return s.Status.Conditions }, v1beta2.ConditionArchiving, metav1.ConditionTrue, v1beta2.ReasonArchiving)
}

// restorable restores each record by its revision and by its time, and compares it with what the cluster had. A record in no range
// must be refused. It also restores both ends of each range.
func (a *archived) restorable(ranges []v1beta2.RecoverableRange) {
	a.Helper()
	for i, r := range a.records {
		known := slices.ContainsFunc(ranges, func(o v1beta2.RecoverableRange) bool {
			return o.Timeline == int64(r.timeline) && o.From.Revision <= r.revision && r.revision <= o.To.Revision
		})
		if !known {
			a.Errorf("revision %d of timeline %d was archived, and is in none of the ranges %+v", r.revision, r.timeline, ranges)
		}
		newer := slices.ContainsFunc(ranges, func(o v1beta2.RecoverableRange) bool {
			return o.Timeline > int64(r.timeline) && o.From.Revision <= r.revision && r.revision <= o.To.Revision
		})
		if !newer { // else the revision is that of the newer timeline
			a.compare(r, source.Choice{Folder: true, Revision: r.revision})
		}
		if i < len(a.records)-1 { // the last one ends the archive, and the times of a status have whole seconds
			a.compareTime(r)
		}
	}
	for _, o := range ranges {
		for _, end := range []int64{o.From.Revision, o.To.Revision} {
			if _, _, err := a.restore(source.Choice{Folder: true, Revision: end}); err != nil {
				a.Errorf("revision %d is an end of the range %+v: %v", end, o, err)
			}
		}
	}
}

// compare restores a record, and compares it with what the cluster had.
func (a *archived) compare(want kept, choice source.Choice) {
	a.Helper()
	path, point, err := a.restore(choice)
	if err != nil {
		a.Errorf("revision %d of timeline %d: %+v: %v", want.revision, want.timeline, choice, err)
		return
	}
	got, err := dbfile.TryRestore(a.Context(), dbfile.Trial{
		SnapshotPath: path, DataDir: filepath.Join(a.TempDir(), "data"), Revision: want.revision, CompactRevision: want.compacted,
	})
	if err != nil || got.Hash != want.hash || point.Reached.Revision != want.revision || point.Timeline != want.timeline {
		a.Errorf("%+v leads to %+v of timeline %d with the hash %08x, error %v; the cluster had revision %d of timeline %d with the hash %08x",
			choice, point.Reached, point.Timeline, got.Hash, err, want.revision, want.timeline, want.hash)
	}
}

// compareTime is compare for the time of a record. If that record ends a range, its time may be after that end. It may then be refused,
// if the refusal names the end of the range.
func (a *archived) compareTime(want kept) {
	a.Helper()
	choice := source.Choice{Folder: true, Time: want.at.Format(time.RFC3339Nano)}
	_, _, err := a.restore(choice)
	if refusal := (*archive.Refusal)(nil); errors.As(err, &refusal) && refusal.Before != nil && refusal.Before.Revision == want.revision && a.ends(want) {
		return
	}
	a.compare(want, choice)
}

// ends returns whether a record is the end of a range.
func (a *archived) ends(r kept) bool {
	return slices.ContainsFunc(a.series.Status.Recoverable, func(o v1beta2.RecoverableRange) bool {
		return o.Timeline == int64(r.timeline) && o.To.Revision == r.revision
	})
}

// restore does what restore-operator does with a point.
func (a *archived) restore(choice source.Choice) (path string, point source.Point, err error) {
	from := v1beta2.RestoreSource{StorageType: v1beta2.StorageS3, Bucket: bucket, Key: folder, Endpoint: a.store.server.Endpoint, Region: a.store.server.Region, ForcePathStyle: true}
	var end archive.Progress // as restore-operator reads it in the status
	if n := len(a.series.Status.Recoverable); n > 0 {
		last := a.series.Status.Recoverable[n-1]
		end = archive.Progress{Timeline: archive.Timeline(last.Timeline), Point: archive.Point{Revision: last.To.Revision, At: last.To.Time.Time}}
	}
	if point, err = source.FindPoint(a.Context(), from, source.By{Secret: a.store.data()}, choice, end); err != nil {
		return "", point, err
	}
	dir := a.TempDir()
	fetched, err := proof.Fetch(a.Context(), a.objects, point.Choice.Base.Key, proof.Alone(dir), nil, snapshot.Anyone)
	if err != nil {
		return "", point, err
	}
	_, err = replay.Replay(a.Context(), replay.Options{
		Path: fetched.Path, Revision: point.Reached.Revision, Chain: point.Chain, FallbackTTL: 60, Next: point.Segments(a.objects, point.Root),
	})
	return fetched.Path, point, err
}

// stopped waits until Archiving is not True.
func (a *archived) stopped(reason string) {
	a.Helper()
	kubetest.Await(a, a.series, "report that nothing is archived: "+reason, func(s *v1beta2.EtcdBackup) bool {
		found := meta.FindStatusCondition(s.Status.Conditions, v1beta2.ConditionArchiving)
		return found != nil && found.Status != metav1.ConditionTrue && found.Reason == reason
	})
}

// refuses checks that a lost revision is refused with points that can be restored.
func (a *archived) refuses(revision int64) {
	a.Helper()
	_, _, err := a.restore(source.Choice{Folder: true, Revision: revision})
	if refusal := (*archive.Refusal)(nil); !errors.As(err, &refusal) || refusal.Before == nil || refusal.After == nil {
		a.Errorf("the lost revision %d is restored, or refused without the points around the gap: %v", revision, err)
	}
}
