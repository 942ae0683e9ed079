package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Until the switch the old members serve, and what they acknowledge would only be left in volumes that are deleted.
func TestTheOldDataIsSavedBeforeTheSwitch(t *testing.T) {
	given := func(policy v1beta2.SafetySnapshotPolicy, changes ...change) State {
		s := state(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving))
		s.Request.Safety = policy
		for _, c := range changes {
			c(&s)
		}
		return s
	}
	readySince := func(ago time.Duration) change {
		return func(s *State) { s.Restore.SeedReadyTime = &metav1.Time{Time: noon.Add(-ago)} }
	}
	saved := func(result v1beta2.SafetySnapshotResult) change {
		return func(s *State) {
			s.Request.Saved = &v1beta2.SafetySnapshotStatus{Result: result, Path: "b/k", Message: "no quorum"}
		}
	}
	toSwitch := BeginSwitch{ClusterID: seedID, Revision: 1000000042}
	wait := Wait{Reason: v1beta2.ReasonRestoring, Message: awaitsSafetySnapshot, Requeue: requeueStarting}
	const ifPossible, required = v1beta2.SafetySnapshotIfPossible, v1beta2.SafetySnapshotRequired
	for name, test := range map[string]struct {
		state State
		want  Step
	}{
		"asks for it when the seed is ready":              {given(ifPossible), AwaitSafetySnapshot{}},
		"waits for it":                                    {given(ifPossible, readySince(time.Minute)), wait},
		"switches when it is taken":                       {given(required, readySince(time.Minute), saved("Taken")), toSwitch},
		"switches if it is not possible":                  {given(ifPossible, readySince(time.Minute), saved("NotTaken")), toSwitch},
		"switches if restore-operator does not answer":    {given(ifPossible, readySince(time.Hour)), toSwitch},
		"fails if it is required and not possible":        {given(required, readySince(time.Minute), saved("NotTaken")), FailRestore{Message: "The safety snapshot is required and could not be taken: no quorum. The cluster was not touched."}},
		"needs none if the spec skips it":                 {given(""), toSwitch},
		"is not asked for it again by an earlier restore": {given(ifPossible, saved("Taken")), toSwitch},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Plan(test.state)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	unformed := given(ifPossible)
	unformed.ClusterID = ""
	if step := unformed.safetySnapshot(); step != nil {
		t.Errorf("a cluster that has never formed has no data, got %+v", step)
	}
	if fail, is := Plan(given(required, readySince(time.Hour))).(FailRestore); !is || !strings.Contains(fail.Message, "not taken within 15m0s") {
		t.Errorf("a required one that restore-operator never takes: %+v", fail)
	}
}

func TestTheStatusRemembersTheSafetySnapshotAfterItsRestoreIsDeleted(t *testing.T) {
	s := state(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving))
	s.Request.Saved = &v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken, Path: "b/k"}
	status := NewStatus(s, AwaitSafetySnapshot{}, nil, v1beta2.EtcdClusterStatus{}, 1)
	if !status.Restore.SeedReadyTime.Time.Equal(noon) {
		t.Errorf("the seed was ready at %v", status.Restore.SeedReadyTime)
	}
	s.Restore = NewStatus(s, BeginSwitch{ClusterID: seedID}, nil, status, 1).Restore
	s.Request = nil
	past := NewStatus(s, AdoptSeed{ClusterID: seedID, Incarnation: 2}, nil, status, 1).PastRestores
	if len(past) != 1 || past[0].SafetySnapshot != "b/k" {
		t.Errorf("the past restores are %+v", past)
	}
}
