// Package statetest builds the States of tests.
package statetest

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// T0 is when the State of every test is observed.
var T0 = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// Change makes one State differ from another.
type Change func(*state.State)

// One is a one-shot of endpoints without an attempt.
func One(changes ...Change) state.State {
	s := state.State{
		Namespace: "ns", Name: "b", UID: "u", Generation: 1,
		Spec: v1beta2.EtcdBackupSpec{
			EtcdEndpoints: []string{"http://10.0.0.1:2379"},
			StorageType:   v1beta2.StorageS3,
			Storage:       v1beta2.Storage{S3: &v1beta2.S3Source{Path: "bucket/dir/snap.db"}},
		},
		Status: v1beta2.EtcdBackupStatus{ObservedGeneration: 1},
		Now:    T0,
	}
	for _, c := range changes {
		c(&s)
	}
	s.Target, s.Problem = state.TargetOf(s.Namespace, s.Name, s.Spec)
	return s
}

// Series takes a snapshot each hour.
func Series(changes ...Change) state.State {
	return One(append([]Change{Every(time.Hour)}, changes...)...)
}

// Every takes a snapshot in that interval.
func Every(d time.Duration) Change {
	return func(s *state.State) {
		s.Spec.BackupPolicy = &v1beta2.BackupPolicy{BackupIntervalInSecond: int64(d / time.Second)}
	}
}

// Proven takes the newest snapshot of the series that long ago.
func Proven(ago time.Duration) Change {
	return func(s *state.State) {
		at := T0.Add(-ago)
		s.Status.Succeeded = true
		s.Status.LastSuccessDate = &metav1.Time{Time: at}
		s.Status.Snapshot = &v1beta2.Snapshot{Path: "bucket/dir/snap.db/ns/b/0000000000000001/x.db", CreatedAt: state.Stamp(at)}
	}
}

// Stopped stops the operator during an attempt that started that long ago.
func Stopped(n int32, ago time.Duration) Change {
	return func(s *state.State) {
		s.Status.Attempts, s.Status.NextTime = n, nil
		s.Status.LastAttemptTime = &metav1.Time{Time: T0.Add(-ago)}
	}
}

// Of names an EtcdCluster instead of endpoints.
func Of(c *state.Cluster) Change {
	return func(s *state.State) {
		s.Spec.EtcdEndpoints, s.Spec.EtcdCluster, s.Cluster = nil, &v1beta2.ClusterReference{Name: "etcd"}, c
		if newest := s.Status.Snapshot; newest != nil {
			newest.Path = strings.Replace(newest.Path, "/ns/b/", "/ns/etcd/", 1)
		}
	}
}

// Available is an EtcdCluster that serves clients.
func Available() *state.Cluster {
	return &state.Cluster{Name: "etcd", ID: "0000000000000001", Available: true, ClientURLs: []string{"http://a:2379"}}
}

// Attempt is the attempt of this process.
func Attempt(a state.Attempt) Change { return func(s *state.State) { s.Attempt = &a } }

// Edited changes the spec since the status was written.
func Edited(s *state.State) { s.Generation = 2 }
