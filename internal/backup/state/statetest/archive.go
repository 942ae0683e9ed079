package statetest

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// ArchivingState is a series with a continuous archive, whose archiver runs.
func ArchivingState(t *testing.T, change ...func(*state.State)) state.State {
	t.Helper()
	s := One()
	s.Spec.BackupPolicy = &v1beta2.BackupPolicy{BackupIntervalInSecond: 3600}
	s.Spec.Continuous = &v1beta2.ContinuousArchive{}
	s.Target, s.Problem = state.TargetOf(s.Namespace, s.Name, s.Spec)
	s.Status.ObservedGeneration = s.Generation
	s.Status.Snapshot = SnapshotAt(s.Target.Path()+"/ns/b/0000000000000abc/x.db", s.Now.Add(-time.Minute))
	s.Status.LastSuccessDate = state.Second(s.Now.Add(-time.Minute))
	s.Archive = &state.Archive{Begun: true, Surveyed: true, Covered: true, Ranges: []archive.Range{RangeTo(s, 20, 0)}}
	for _, c := range change {
		c(&s)
	}
	return s
}

// RangeTo is a range up to that revision.
func RangeTo(s state.State, revision int64, later time.Duration) archive.Range {
	return archive.Range{
		Timeline: 1, From: archive.Point{Revision: 10, At: s.Now.Add(-time.Hour)},
		To: archive.Point{Revision: revision, At: s.Now.Add(later)},
	}
}

// Wants makes the archiver ask for a snapshot.
func Wants(reason string) func(*state.State) { return func(s *state.State) { s.Archive.Want = reason } }

// InCluster makes the series one of an EtcdCluster.
func InCluster(s *state.State, hibernated bool) {
	s.Spec.EtcdEndpoints, s.Spec.EtcdCluster = nil, &v1beta2.ClusterReference{Name: "x"}
	s.Cluster = &state.Cluster{Name: "x", ClientURLs: []string{"http://x:2379"}, Available: !hibernated, Hibernated: hibernated}
}

// Later makes the newest snapshot another one than the first of its range.
func Later(s *state.State) { s.Status.Snapshot.Revision = 15 }

// EarlierOf returns the path of an earlier snapshot of the series.
func EarlierOf(s state.State) string {
	return s.Target.Bucket + "/" + state.JobSpecOf(s).SeriesOf(0).Lives() + "0000000000000abc/p.db"
}
