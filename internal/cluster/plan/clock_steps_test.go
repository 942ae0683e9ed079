package plan

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// asksClock are examples of steps that may be due to time and cannot be undone.
var asksClock = []steps.Step{
	steps.CreateCA{}, steps.ReplaceCA{}, steps.RemovePreviousCA{}, steps.WriteCertificates{}, steps.WriteUserCertificates{}, steps.BeginRecovery{}, steps.FailRestore{},
	steps.RemoveMember{Name: "example-1", Cause: "it has not served for 5m"}, steps.DeletePod{Name: "example-1"}, steps.ForceDeletePod{Name: "example-1"},
}

// asksNoClock says of all other steps why a clock that is wrong for a while does no harm.
var asksNoClock = map[string]string{
	"it only adds or changes what the operator changes again if need be": `AddLearner AddToService ApplyBudget ApplyMetadata ApplyNetworkPolicy ApplyServices CreateMember
		CreateMembers CreateVolumes DefragmentMember DisarmAlarm EnableDowngrade CancelDowngrade ForbidEmptyStart LoadCertificates MoveLeader
		ChangeAccounts PromoteLearner RelabelPod RemoveFromService RequestCertificates ResizePod ResizeVolume RestoreLabels WithdrawBudget
		WithdrawNetworkPolicy KeepVolume UnmarkVolume HandOutCA RequestUserCertificates WithdrawUserCertificates`,
	"it only writes the status": `AnnounceAccounts AnnounceUserCertificates AwaitResize AwaitSafetySnapshot BeginBootstrap BeginRemoval CompleteRecovery CompleteRestore
		EndDefragmentation RecordForced RecordForcing RecordFormed RecordPromotion RecordVersionChange ReturnToSeeding CancelRecovery`,
	"it changes nothing": "Advice Done Hibernating Idle VolumeMayFill Wait",
	"a person or another object asks for it, and no time that has passed": "AdoptSeed BeginRestore BeginSwitch PromoteStandby CompactHistory FenceWrites UnfenceWrites ReleaseMember SetAsideVolume StopMembers",
	"confirmOver asks the API server for its time":                        "DeleteVolume",
}

// The operator's clock was wrong for a moment, and a step that cannot be undone did not ask the API server for its time: members were
// replaced, and a cluster went on from one member, before the time that they are given.
func TestEachStepSaysWhetherItAsksTheClockOfTheAPIServer(t *testing.T) {
	s := stateWith(formed, members(3), with(1, func(m *state.Member) { m.Serving = false }))
	s.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}
	known := map[string]bool{}
	for _, step := range asksClock {
		known[reflect.TypeOf(step).Name()] = true
		if !certificates.AsksClock(s, step) {
			t.Errorf("%T cannot be undone, and is taken by a clock that may be wrong", step)
		}
	}
	for _, names := range asksNoClock {
		for name := range strings.FieldsSeq(names) {
			known[name] = true
			at := slices.IndexFunc(everyStep, func(step steps.Step) bool { return reflect.TypeOf(step).Name() == name })
			if at >= 0 && certificates.AsksClock(s, everyStep[at]) {
				t.Errorf("%s asks for the time. Move it to asksClock.", name)
			}
		}
	}
	types := stepTypes(t)
	for _, name := range types {
		if !known[name] {
			t.Errorf("May %s be due to time, and can it be undone? Add it to asksClock or asksNoClock.", name)
		}
	}
	for name := range known {
		if !slices.Contains(types, name) {
			t.Errorf("there is no step %s any more", name)
		}
	}
}
