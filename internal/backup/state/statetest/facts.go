package statetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// At is a clock that stands still.
func At(now time.Time) func() time.Time { return func() time.Time { return now } }

// Keep keeps that many snapshots.
func Keep(n int) Change {
	return func(s *state.State) { s.Spec.BackupPolicy.MaxBackups = n }
}

// Copies asks for a second location.
func Copies(s *state.State) {
	s.Spec.CopyTo = &v1beta2.CopyTarget{StorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: "other/copies"}}}
	s.CopyTarget, s.CopyProblem = state.CopyTargetOf(s.Namespace, s.Name, s.Spec, s.Target)
}

// CopiedAt makes the copy of that snapshot that long ago.
func CopiedAt(sha, created string, ago time.Duration) Change {
	return func(s *state.State) {
		s.Status.Copies = &v1beta2.BackupCopies{
			ObservedGeneration: 1, LastAttemptTime: &metav1.Time{Time: T0.Add(-ago)},
			Newest: &v1beta2.Snapshot{SHA256: sha, CreatedAt: created},
		}
	}
}

// PolicyOf is a policy with that time limit of an attempt.
func PolicyOf(seconds int64) *v1beta2.BackupPolicy {
	return &v1beta2.BackupPolicy{TimeoutInSecond: seconds}
}

// Picture is a status in few lines: each condition as "Type=Status Reason", and further fields.
func Picture(s v1beta2.EtcdBackupStatus) string {
	var lines []string
	for _, c := range s.Conditions {
		lines = append(lines, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason))
	}
	slices.Sort(lines)
	facts := []string{fmt.Sprintf("succeeded=%v attempts=%d", s.Succeeded, s.Attempts)}
	add := func(name string, t *metav1.Time) {
		if t != nil {
			facts = append(facts, name+"="+t.UTC().Format("15:04:05"))
		}
	}
	add("began", s.LastAttemptTime)
	add("next", s.NextTime)
	add("success", s.LastSuccessDate)
	if s.Snapshot != nil {
		facts = append(facts, fmt.Sprintf("revision=%d version=%s", s.EtcdRevision, s.EtcdVersion))
	}
	return strings.Join(append(lines, strings.Join(facts, " ")), "\n") + "\n"
}

// Ended is an attempt that has ended so.
func Ended(number int32, r state.Result) Change {
	r.EndedAt = T0
	return Attempt(state.Attempt{Generation: 1, Number: number, StartedAt: T0.Add(-3 * time.Second), Result: &r})
}

// SnapshotAt is a verified snapshot at that path.
func SnapshotAt(path string, at time.Time) *v1beta2.Snapshot {
	return &v1beta2.Snapshot{Path: path, Revision: 42, Keys: 7, Size: 4096, EtcdVersion: "3.6.16", CreatedAt: state.Stamp(at)}
}

// Verifies asks for a restore test of each snapshot.
func Verifies(s *state.State) { s.Spec.Verify = v1beta2.VerifyRestore }
