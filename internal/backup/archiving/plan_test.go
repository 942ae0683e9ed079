package archiving

import (
	"errors"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func TestAnArchiverRunsOnlyWhileTheSpecAsksForIt(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*state.State)
		want   bool
	}{
		"the spec asks for an archive":    {func(*state.State) {}, true},
		"without continuous":              {func(s *state.State) { s.Spec.Continuous = nil }, false},
		"while the series is suspended":   {func(s *state.State) { s.Spec.BackupPolicy.Suspend = true }, false},
		"while the EtcdBackup is deleted": {func(s *state.State) { s.Deleting = true }, false},
		"with an invalid spec":            {func(s *state.State) { s.Problem = state.Invalid("x") }, false},
		"before the finalizer is set":     {func(s *state.State) { s.Spec.DeletionPolicy = v1beta2.DeletionDelete }, false},
		"after the finalizer was set":     {func(s *state.State) { s.Spec.DeletionPolicy, s.Held = v1beta2.DeletionDelete, true }, true},
		"without its EtcdCluster": {func(s *state.State) {
			s.Spec.EtcdEndpoints, s.Spec.EtcdCluster = nil, &v1beta2.ClusterReference{Name: "x"}
		}, false},
		"with an EtcdCluster":              {func(s *state.State) { statetest.InCluster(s, false) }, true},
		"while the EtcdCluster hibernates": {func(s *state.State) { statetest.InCluster(s, true) }, false},
		"for a one-shot":                   {func(s *state.State) { s.Spec.BackupPolicy = nil }, false},
	} {
		s := statetest.ArchivingState(t, test.change)
		if got := SpecOf(s) != nil; got != test.want {
			t.Errorf("%s: an archiver runs: %t, want %t", name, got, test.want)
		}
	}
}

func TestEtcdBefore35IsNotArchived(t *testing.T) {
	for version, want := range map[string]string{"3.4.37": "refused", "3.5.9": "advice", "3.5.16": "", "3.6.0": "", "3.7.0-rc.1": "", "4.0.0": ""} {
		advice, err := archivable(version)
		if got := map[bool]string{true: "refused", false: map[bool]string{true: "advice", false: ""}[advice != ""]}[err != nil]; got != want {
			t.Errorf("etcd %s: %q, want %q", version, got, want)
		}
	}
}

// The archiver paused for up to a minute. A cluster that was resumed or got its quorum back was not archived during the
// pause, and neither was one whose store was down for some minutes.
func TestAnArchiverComesBackSoonAfterItsMembers(t *testing.T) {
	lost, store := ofMembers(errors.New("unavailable")), errors.New("refused")
	for failures := int32(1); failures < 100; failures++ {
		if d := limits.Delay(failures, lost, "", 0, time.Second); d > 5*time.Second || d < time.Second && failures > 1 {
			t.Fatalf("after %d failures of the members it waits for %s", failures, d)
		}
		if d := limits.Delay(failures, lost, "", 0, time.Hour); d > time.Minute {
			t.Fatalf("after %d failures of the members it waits for %s", failures, d)
		}
	}
	for reason, want := range map[string]time.Duration{
		v1beta2.ReasonStoreUnavailable: 10 * time.Second, v1beta2.ReasonStoreUnreachable: 10 * time.Second, v1beta2.ReasonAccessDenied: time.Minute, v1beta2.ReasonArchiveFenced: time.Minute,
	} {
		if d := limits.Delay(20, store, reason, 0, time.Second); d != want {
			t.Errorf("after 20 failures with the reason %s it waits for %s", reason, d)
		}
	}
	if d := limits.Delay(20, store, v1beta2.ReasonStoreUnavailable, 8*time.Second, time.Second); d != 40*time.Second {
		t.Errorf("after a store that fails when it has listed for 8 s, it waits for %s", d)
	}
}
