package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// inStore completes a status as an operator writes it that saves into the store of the spec.
func inStore(s *state.State) { s.Status.SnapshotStore = s.Target.Store() }

// facts are all decisions that depend on the newest snapshot of the status being of what the spec saves now.
var facts = map[string]func(state.State) bool{
	"it counts as taken":              func(s state.State) bool { _, found := s.Newest(); return found },
	"it is tested by its schedule":    state.State.Drillable,
	"it proves the archive":           state.ProofWanted,
	"the archive is the one that was": func(s state.State) bool { return !s.MovedArchive() },
	"it is copied":                    func(s state.State) bool { return !CopyTurn(s).IsZero() },
	"old snapshots are deleted":       func(s state.State) bool { return !pruneTurn(s).IsZero() },
	"an attempt begins with it":       func(s state.State) bool { return state.JobSpecOf(s).Newest.Path != "" },
}

// Without this, the next snapshot is taken hours later, Ready stays true although the new store is empty, and a restore test reads 404 and
// reports that the snapshot must not be restored.
func TestASnapshotCountsOnlyInTheStoreThatItWasSavedTo(t *testing.T) {
	given := func(stored bool, change func(*state.State)) state.State {
		return statetest.ArchivingState(t, statetest.Later, func(s *state.State) {
			s.Spec.S3.Endpoint, s.Spec.S3.Region = "https://one.example.com", "east"
			s.Spec.Drill = &v1beta2.DrillPolicy{Schedule: "@daily"}
			s.Spec.BackupPolicy.MaxBackups = 3
			s.Status.Snapshot.ClusterID = "0000000000000abc"
			s.Target, s.Problem = state.TargetOf(s.Namespace, s.Name, s.Spec)
			if stored {
				inStore(s)
			}
			change(s)
			s.Target, s.Problem = state.TargetOf(s.Namespace, s.Name, s.Spec)
			statetest.Copies(s)
		})
	}
	same := map[string]state.State{
		"nothing was changed":                             given(true, func(*state.State) {}),
		"the endpoint is written in another way":          given(true, func(s *state.State) { s.Spec.S3.Endpoint = "https://ONE.example.com/" }),
		"the status of an earlier version names no store": given(false, func(*state.State) {}),
	}
	moved := map[string]state.State{
		"the endpoint was changed": given(true, func(s *state.State) { s.Spec.S3.Endpoint = "https://two.example.com" }),
		"the region was changed":   given(true, func(s *state.State) { s.Spec.S3.Region = "west" }),
		"the folder was changed":   given(true, func(s *state.State) { s.Spec.S3.Path = "bucket/another" }),
		"the cluster was changed":  given(true, func(s *state.State) { s.Spec.EtcdCluster = &v1beta2.ClusterReference{Name: "another"} }),
		"the bucket was changed":   given(true, func(s *state.State) { s.Spec.S3.Path = "another/dir/snap.db" }),
		"the provider was changed": given(true, func(s *state.State) {
			s.Spec.StorageType, s.Spec.Storage = v1beta2.StorageGCS, v1beta2.Storage{GCS: &v1beta2.GCSSource{Path: s.Spec.S3.Path}}
		}),
	}
	for fact, holds := range facts {
		for name, state := range same {
			if state.Problem != nil || !holds(state) {
				t.Errorf("%s: not %s (%v)", name, fact, state.Problem)
			}
		}
		for name, state := range moved {
			if state.Problem != nil || holds(state) {
				t.Errorf("%s: %s (%v)", name, fact, state.Problem)
			}
		}
	}
}
