package volumes_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// perObject has the rules that change one object per step, each with a state in which two objects need the step.
var perObject = map[string][]plantest.Change{
	"setRetention":     {plantest.Formed, plantest.Members(3), plantest.Retained},
	"requestGrowth":    {plantest.Formed, plantest.Members(3), small2},
	"restoreLabels":    {plantest.Formed, plantest.Members(3), each(func(m *state.Member) { m.Unlabelled = true })},
	"loadCertificates": {plantest.Formed, plantest.Members(3), func(s *state.State) { s.Certificates.Loaded = "new" }},
	"recreateBlocked":  {plantest.Formed, plantest.Members(3), each(plantest.Pod(state.PodEnded))},
	"startMember":      {plantest.Formed, plantest.Members(3), each(plantest.WithoutPod)},
	"addToService":     {plantest.Formed, plantest.Members(3), each(func(m *state.Member) { m.InService = false })},
	"relabelPods":      {plantest.Formed, plantest.Members(3), each(func(m *state.Member) { m.Relabel = true })},
	"unmarkVolumes":    {plantest.Formed, plantest.Members(3), each(plantest.MarkedByRecovery)},
	"deleteOldVolumes": {plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Volume(state.VolumePresent)), plantest.With(4, plantest.Volume(state.VolumePresent))},
}

func each(c func(*state.Member)) plantest.Change {
	return func(s *state.State) {
		for i := range s.Members {
			c(&s.Members[i])
		}
	}
}

// small2: two volumes of members that do not serve are smaller than the spec asks for.
func small2(s *state.State) {
	plantest.VolumesOf("16Gi")(s)
	for i := range 2 {
		plantest.Holds(8, 8)(&s.Members[i])
		s.Members[i].Serving, s.Members[i].PodReady = false, false
	}
}

// A webhook that reverses or refuses one object must not keep the rule from all others.
func TestAnObjectThatIsHeldOrRefusedNeverStopsTheOthers(t *testing.T) {
	for rule, changes := range perObject {
		t.Run(rule, func(t *testing.T) {
			for _, held := range []bool{true, false} {
				s := plantest.StateWith(changes...)
				first, by := plan.Choose(s)
				if by != rule {
					t.Fatalf("the plan is %+v by %s", first, by)
				}
				if held {
					s.Held = []state.Held{{Step: steps.RepeatKey(s, first), Times: 3, Until: s.Now.Add(time.Minute)}}
				} else {
					plan.Refuse(&s, first)
				}
				second, by := plan.Choose(s)
				if by != rule || reflect.DeepEqual(first, second) {
					t.Errorf("held %t: after %+v comes %+v by %q, want the same for another object", held, first, second, by)
				}
			}
		})
	}
}

func TestAHeldObjectIsReportedOnceTheOthersAreDone(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Retained)
	s.Held = []state.Held{{Step: steps.RepeatKey(s, plan.Plan(s)), Times: 3, Until: s.Now.Add(time.Minute)}}
	for i := range s.Members[1:] {
		s.Members[i+1].VolumeKept = true
	}
	if wait, is := plan.Plan(s).(steps.Wait); !is || wait.Reason != v1beta2.ReasonChangedByOthers {
		t.Errorf("the plan is %+v, want the held volume to be reported", plan.Plan(s))
	}
}

// A webhook changes the headless Service, and then a person breaks the client Service.
func TestAHeldServiceDoesNotStopTheCorrectionOfTheOther(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), func(s *state.State) { s.Services.HeadlessCurrent = false })
	s.Held = []state.Held{{Step: steps.RepeatKey(s, plan.Plan(s)), Times: 3, Until: s.Now.Add(time.Minute)}}
	s.Services.ClientCurrent = false
	if _, applies := plan.Plan(s).(steps.ApplyServices); !applies {
		t.Errorf("the plan is %+v, want the client Service to be corrected", plan.Plan(s))
	}
}

func TestVolumesThatAreSetAsideAreRetainedToo(t *testing.T) {
	const old = "example-old"
	keepsAll := func(s *state.State) {
		plantest.Retained(s)
		each(plantest.Kept)(s)
	}
	given := func(s *state.State) { s.SetAside[0].Kept = true }
	plantest.Plans{
		"volumes that are set aside outlive the EtcdCluster":                         {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Aside(old, time.Hour), keepsAll), steps.KeepVolume{Name: old, Keep: true}},
		"volumes that are set aside outlive a paused EtcdCluster":                    {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Aside(old, time.Hour), keepsAll, func(s *state.State) { s.Spec.Paused = true }), steps.KeepVolume{Name: old, Keep: true}},
		"a volume that is already kept is not changed":                               {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Aside(old, time.Hour), keepsAll, given), steps.Done{}},
		"volumes that are set aside are no longer kept without spec.volumeRetention": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Aside(old, time.Hour), given), steps.KeepVolume{Name: old}},
		"volumes that are set aside are deleted after 24 hours":                      {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Aside(old, 24*time.Hour), keepsAll, given), steps.DeleteVolume{Name: old, Reason: v1beta2.ReasonScaling}},
	}.Run(t, plan.Plan)
}
