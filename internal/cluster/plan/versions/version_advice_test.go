package versions_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

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
			s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.AllRun(v))
			step := plan.Plan(s)
			advice, is := step.(steps.Advice)
			if is != (want != "") || !strings.Contains(advice.Message, want) {
				t.Errorf("the step is %#v, want a message with %q", step, want)
			}
			status := plan.NewStatus(s, step, nil, v1beta2.EtcdClusterStatus{}, 1)
			if !meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionReady) || !meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionAvailable) {
				t.Errorf("the cluster is not ready: %+v", status.Conditions)
			}
		})
	}
}

func TestTheStatusCountsReadyMembers(t *testing.T) {
	for want, s := range map[string]state.State{
		"3/3": plantest.StateWith(plantest.Formed, plantest.Members(3)),
		"2/3": plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Silent)),
		"0/3": plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, plantest.WithoutPod), plantest.With(1, plantest.WithoutPod), plantest.With(2, plantest.WithoutPod), plantest.NoQuorum, plantest.Hibernating),
		"3/5": plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(5)),
		"0/1": plantest.StateWith(plantest.Size(1)),
	} {
		if got := plan.NewStatus(s, plan.Plan(s), nil, v1beta2.EtcdClusterStatus{}, 1).ReadyMembers; got != want {
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
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.AllRun("3.5.1"), plantest.Asks(state.Asked{Fence: []string{plantest.NameOf(1)}}), plantest.With(1, plantest.OutOfService))
	s.KnownVersion = "3.5.1"
	if said := steps.Describe(s, plan.Plan(s)).Message; !strings.Contains(said, "does not select "+plantest.NameOf(1)) {
		t.Errorf("the fenced member is not named: %s", said)
	}
}

// An administrator learns of a defect before this suite has a release that knows it.
func TestADefectOfTheChartIsReported(t *testing.T) {
	more := func(s *state.State) {
		s.MoreDefects = []etcdversion.Defect{{From: "3.6.0", Fixed: "3.6.20", Effect: "members can lose data", Source: "https://example.com/1"}}
	}
	advice, _ := plan.Plan(plantest.StateWith(plantest.Formed, plantest.Members(3), more)).(steps.Advice)
	if want := "because members can lose data (https://example.com/1). Set spec.version to the newest 3.6, at least 3.6.20."; !strings.Contains(advice.Message, want) {
		t.Errorf("the advice is %q, want one with %q", advice.Message, want)
	}
	if step := plan.Plan(plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.AllRun("3.7.3"), more)); step != (steps.Done{}) {
		t.Errorf("a release of another minor version is advised against: %#v", step)
	}
}
