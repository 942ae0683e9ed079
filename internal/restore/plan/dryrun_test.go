package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/status"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

func TestADryRunVerifiesTheSnapshotAndStops(t *testing.T) {
	done := withProof(state.Proof{Progress: state.ProofDone, Asked: theSource, Source: theSource, Snapshot: theSnapshot, Format: "3.6.0"})
	dryRun := func(s *state.State) { s.Restore.Spec.DryRun = true }
	s := given(dryRun, done)
	if diff := cmp.Diff(steps.Step(steps.Proved{Snapshot: theSnapshot}), next(s)); diff != "" {
		t.Fatalf("want -, got +:\n%s", diff)
	}
	s.Restore.Status = status.New(s, next(s), nil)
	status := s.Restore.Status
	ready := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionReady)
	if ready.Reason != v1beta2.ReasonDryRun || status.Succeeded || status.CompletionTime == nil || status.Snapshot == nil || status.Source != nil ||
		meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionComplete) || meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionFailed) {
		t.Errorf("%+v", status)
	}
	if diff := cmp.Diff(steps.Step(steps.Done{}), next(s)); diff != "" {
		t.Errorf("after that: want -, got +:\n%s", diff)
	}
	if d := next(given(dryRun, done, withoutCluster)).Describe(given(dryRun, done, withoutCluster)); !strings.Contains(d.Message, "There is no EtcdCluster example") {
		t.Error(d.Message)
	}
	if fail, is := next(given(dryRun, done, withVersion("3.5.1"))).(steps.Fail); !is || fail.Reason != v1beta2.ReasonSnapshotTooNew {
		t.Errorf("a snapshot that does not fit: %+v", fail)
	}
}
