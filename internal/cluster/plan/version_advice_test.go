package plan

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

func allRun(v string) change {
	return func(s *state.State) {
		s.Spec.Version = v
		for i := range s.Members {
			s.Members[i].Version, s.Members[i].PodImage = v, s.Spec.Image()
		}
	}
}

func TestVersionsToLeaveAreReported(t *testing.T) {
	for v, want := range map[string]string{
		"3.2.13":   "is tested with 3.4 and newer",
		"3.4.21":   "authentication is on can get other data (https://github.com/etcd-io/etcd/issues/14571). It has",
		"3.4.37":   "a member that is defragmented while it receives a snapshot loses its data (https://github.com/etcd-io/etcd/issues/20271)",
		"3.4.44":   "etcd's project ended 3.4 with 3.4.45 of 2026-06-01. Upgrade to the next minor version.",
		"3.5.0":    "after a crash under load",
		"3.5.2":    "at least 3.5.33",
		"3.5.5":    "after a crash during a defragmentation",
		"3.5.16":   "is defragmented while it receives a snapshot",
		"3.5.32":   "can watch all keys after it",
		"3.5.33":   "",
		"3.6.3":    "is defragmented while it receives a snapshot",
		"3.6.4-0":  "at least 3.6.14",
		"3.6.13":   "It has 1 other known defects. Set spec.version to the newest 3.6, at least 3.6.14.",
		"3.6.14":   "",
		"3.6.16":   "",
		"3.6.16-0": "",
		"3.7.0":    "at least 3.7.1",
		"3.7.3":    "",
	} {
		t.Run(v, func(t *testing.T) {
			s := stateWith(formed, members(3), allRun(v))
			step := Plan(s)
			advice, is := step.(steps.Advice)
			if is != (want != "") || !strings.Contains(advice.Message, want) {
				t.Errorf("the step is %#v, want a message with %q", step, want)
			}
			status := NewStatus(s, step, nil, v1beta2.EtcdClusterStatus{}, 1)
			if !meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionReady) || !meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionAvailable) {
				t.Errorf("the cluster is not ready: %+v", status.Conditions)
			}
		})
	}
}

func TestTheStatusCountsReadyMembers(t *testing.T) {
	for want, s := range map[string]state.State{
		"3/3": stateWith(formed, members(3)),
		"2/3": stateWith(formed, members(3), with(1, silent)),
		"0/3": stateWith(formed, members(3), with(0, withoutPod), with(1, withoutPod), with(2, withoutPod), noQuorum, hibernating),
		"3/5": stateWith(formed, members(3), size(5)),
		"0/1": stateWith(size(1)),
	} {
		if got := NewStatus(s, Plan(s), nil, v1beta2.EtcdClusterStatus{}, 1).ReadyMembers; got != want {
			t.Errorf("readyMembers is %q, want %q", got, want)
		}
	}
}

// A step with advice changes nothing. Otherwise the operator does not report an object that the API server refuses while there
// is advice.
func TestAdviceHidesNothingElse(t *testing.T) {
	for _, step := range []steps.Step{steps.Advice{}, steps.VolumeMayFill{}} {
		if steps.Acts(step) {
			t.Errorf("%T counts as an effect", step)
		}
	}
	s := stateWith(formed, members(3), allRun("3.5.1"), asks(state.Asked{Fence: []string{nameOf(1)}}), with(1, outOfService))
	s.KnownVersion = "3.5.1"
	if said := steps.Describe(s, Plan(s)).Message; !strings.Contains(said, "does not select "+nameOf(1)) {
		t.Errorf("the fenced member is not named: %s", said)
	}
}

// An administrator learns of a defect before this suite has a release that knows it.
func TestADefectOfTheChartIsReported(t *testing.T) {
	more := func(s *state.State) {
		s.MoreDefects = []etcdversion.Defect{{From: "3.6.0", Fixed: "3.6.20", Effect: "members can lose data", Source: "https://example.com/1"}}
	}
	advice, _ := Plan(stateWith(formed, members(3), more)).(steps.Advice)
	if want := "because members can lose data (https://example.com/1). Set spec.version to the newest 3.6, at least 3.6.20."; !strings.Contains(advice.Message, want) {
		t.Errorf("the advice is %q, want one with %q", advice.Message, want)
	}
	if step := Plan(stateWith(formed, members(3), allRun("3.7.3"), more)); step != (steps.Done{}) {
		t.Errorf("a release of another minor version is advised against: %#v", step)
	}
}
