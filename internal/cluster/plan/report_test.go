package plan

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

func TestEvents(t *testing.T) {
	s := state(formed, members(3))
	stalled := Wait{Why: v1beta2.ReasonQuorumLost, Message: "quorum is lost", Stalled: true}
	tests := map[string]struct {
		step    Step
		err     error
		changed bool
		want    []Event
	}{
		"what was done is said": {
			step: RemoveMember{Name: "m", Replace: lostData},
			want: []Event{{corev1.EventTypeNormal, "ReplacingMember", v1beta2.ReasonReplacingMember, "removing member m, because its data is gone; a new one takes its place"}},
		},
		"what a person must do is said once": {
			step: stalled, changed: true,
			want: []Event{{corev1.EventTypeWarning, v1beta2.ReasonQuorumLost, "Wait", "quorum is lost"}},
		},
		"and not again":               {step: stalled},
		"waiting is not said":         {step: Wait{Message: "for a Pod"}, changed: true},
		"nothing to do is not said":   {step: Done{}, changed: true},
		"a restore that failed warns": {step: FailRestore{Message: seedFailed}, want: []Event{{corev1.EventTypeWarning, "RestoreFailed", "Restore", seedFailed}}},
		"an error is said once": {
			step: Done{}, err: errors.New("no"), changed: true,
			want: []Event{{corev1.EventTypeWarning, v1beta2.ReasonReconcileError, "Reconcile", "no"}},
		},
		"the same error is not said again": {step: Done{}, err: errors.New("no")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := EventsOf(s, test.step, test.err, test.changed)
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(Event{})); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// everyStep is one of each kind.
var everyStep = []Step{
	Done{}, Idle{Why: v1beta2.ReasonPaused, Message: "paused"}, Wait{Why: v1beta2.ReasonSettling, Message: "waiting"}, ApplyServices{}, CreateVolumes{}, BeginBootstrap{},
	CreateMembers{}, CreateMember{}, RecordFormed{}, ExposeMember{}, AddLearner{}, PromoteLearner{}, MoveLeader{}, RemoveMember{},
	DeletePod{Why: v1beta2.ReasonScaling}, DeleteVolume{Why: v1beta2.ReasonScaling}, BeginRestore{}, StopMembers{}, BeginSwitch{},
	Asleep{Message: "hibernates"}, KeepVolume{}, KeepVolume{Keep: true}, ResizeVolume{}, AwaitResize{Message: "grows"}, ApplyBudget{}, WithdrawBudget{}, AdoptSeed{}, CompleteRestore{}, FailRestore{Message: seedFailed},
}

func TestEveryStepSpeaks(t *testing.T) {
	for _, step := range everyStep {
		if MessageOf(state(), step) == "" || step.Reason() == "" || step.Requeue() <= 0 {
			t.Errorf("%T: message %q, reason %q, requeue %s", step, MessageOf(state(), step), step.Reason(), step.Requeue())
		}
	}
}
