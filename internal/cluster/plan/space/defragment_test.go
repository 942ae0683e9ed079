package space_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func lateAfter(seconds int64) plantest.Change {
	return func(s *state.State) { s.Spec.Defragmentation.StartingDeadlineSeconds = &seconds }
}

func TestPlanDefragmentation(t *testing.T) {
	half := plantest.DefragmentedBy(v1beta2.DefragmentationPolicy{FreePercent: ptr.To[int32](50)})
	three := time.Date(plantest.Noon.Year(), plantest.Noon.Month(), plantest.Noon.Day(), 3, 0, 0, 0, must(t, "Europe/Berlin")).UTC()
	next := func(i int) steps.DefragmentMember {
		return steps.DefragmentMember{Name: plantest.NameOf(i), Reason: v1beta2.ReasonDefragmenting}
	}
	plantest.Plans{
		"does nothing if the spec does not ask for defragmentation": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Database(1000, 10)), steps.Done{}},
		"defragments a member if half of its database file is free": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), half, plantest.Database(100, 75), plantest.With(2, plantest.Uses(100, 49))), next(2),
		},
		"defragments a follower before the leader": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), half, plantest.Database(200, 99)), next(1),
		},
		"moves leadership before it defragments the leader": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), half, plantest.Database(100, 75), plantest.With(0, plantest.Uses(100, 49))), steps.MoveLeader{From: plantest.NameOf(0), To: 2, Name: plantest.NameOf(1)},
		},
		"does not defragment files smaller than 100 MiB by default": {plantest.StateWith(plantest.Formed, plantest.Members(3), half, plantest.Database(99, 1)), steps.Done{}},
		"defragments smaller files if minimumSize allows it": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.DefragmentedBy(v1beta2.DefragmentationPolicy{FreePercent: ptr.To[int32](50), MinimumSize: ptr.To(resource.MustParse("64Mi"))}), plantest.Database(99, 1)), next(1),
		},
		"does not defragment a member more than once an hour": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), half, plantest.Database(100, 75), plantest.With(2, plantest.Uses(100, 49)), plantest.DefragmentedAgo(2, 59*time.Minute)), steps.Done{},
		},
		"starts no run when it first reads a schedule": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Database(10, 10), plantest.DefragmentedBy(v1beta2.DefragmentationPolicy{Schedule: "* * * * *"})), steps.Done{},
		},
		"starts a run when it is due": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Database(10, 10), plantest.Nightly(24*time.Hour)), next(1),
		},
		"continues a run with the next member": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Database(10, 10), plantest.Nightly(24*time.Hour), plantest.DefragmentedAgo(1, time.Hour)), next(2),
		},
		"moves leadership once all followers are defragmented": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Database(10, 10), plantest.Nightly(24*time.Hour), plantest.DefragmentedAgo(1, time.Hour), plantest.DefragmentedAgo(2, time.Hour)),
			steps.MoveLeader{From: plantest.NameOf(0), To: 2, Name: plantest.NameOf(1)},
		},
		"ends a run once all members are defragmented": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Database(10, 10), plantest.Nightly(24*time.Hour), plantest.DefragmentedAgo(0, time.Hour), plantest.DefragmentedAgo(1, time.Hour), plantest.DefragmentedAgo(2, time.Hour)),
			steps.EndDefragmentation{Due: three},
		},
		"makes up for several missed runs with one run": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Database(10, 10), plantest.Nightly(240*time.Hour), plantest.DefragmentedAgo(0, time.Hour), plantest.DefragmentedAgo(1, time.Hour), plantest.DefragmentedAgo(2, time.Hour)),
			steps.EndDefragmentation{Due: three},
		},
		"does nothing until the next run is due": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Database(10, 10), plantest.Nightly(plantest.Noon.Sub(three))), steps.Done{},
		},
		"skips a run that is later than startingDeadlineSeconds": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Database(10, 10), plantest.Nightly(24*time.Hour), lateAfter(3600)), steps.EndDefragmentation{Due: three, Late: true},
		},
		"waits while a member is starting": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Database(10, 10), plantest.Nightly(24*time.Hour), plantest.With(2, plantest.Pod(state.PodStarting))),
			steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + plantest.NameOf(2) + " is starting."},
		},
		"removes a surplus member before it starts a run": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(2), plantest.Database(10, 10), plantest.Nightly(24*time.Hour)), steps.RemoveMember{ID: 3, Name: plantest.NameOf(2)},
		},
		"rolls out an image before it starts a run": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Database(10, 10), plantest.Nightly(24*time.Hour), plantest.With(2, plantest.WithImage("3.6.15"))),
			steps.DeletePod{Name: plantest.NameOf(2), Reason: v1beta2.ReasonUpgrading, Message: "it must run image quay.io/coreos/etcd:v3.6.16"},
		},
		"reports what is wrong with a schedule": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Database(10, 10), plantest.DefragmentedBy(v1beta2.DefragmentationPolicy{Schedule: "0 3 31 2 *"})),
			steps.Wait{Reason: v1beta2.ReasonInvalidSpec, Message: `spec.defragmentation is invalid: schedule "0 3 31 2 *" is never due: there is no such date. No scheduled run starts until you correct it. The members continue to serve.`, Stalled: true, Requeue: state.RequeueSettled},
		},
	}.Run(t, plan.Plan)
}

func must(t *testing.T, zone string) *time.Location {
	t.Helper()
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	return location
}

func TestTheStatusSaysWhenAMemberWasDefragmented(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Database(10, 10), plantest.Nightly(24*time.Hour))
	first := plan.NewStatus(s, steps.DefragmentMember{Name: plantest.NameOf(1)}, nil, v1beta2.EtcdClusterStatus{}, 1)
	again := plan.NewStatus(s, steps.Done{}, nil, first, 1)
	for i, m := range again.MemberStatuses {
		if (m.DefragmentedAt != nil) != (i == 1) {
			t.Errorf("%s: %v", m.Name, m.DefragmentedAt)
		}
	}
	s.Members[1].ID = 77 // another member with the same name
	if other := plan.NewStatus(s, steps.Done{}, nil, again, 1); other.MemberStatuses[1].DefragmentedAt != nil {
		t.Error("a new member has the time of the one before")
	}
	over := plan.NewStatus(s, steps.EndDefragmentation{Due: plantest.Noon}, nil, again, 1)
	if over.Defragmentation == nil || !over.Defragmentation.LastScheduleTime.Time.Equal(plantest.Noon) {
		t.Errorf("after the run: %+v", over.Defragmentation)
	}
	s.Spec.Defragmentation = nil
	if none := plan.NewStatus(s, steps.Done{}, nil, over, 1); none.Defragmentation != nil {
		t.Errorf("without a schedule: %+v", none.Defragmentation)
	}
}

func TestAScheduleIsSeenOnceAndWrittenOnce(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.DefragmentedBy(v1beta2.DefragmentationPolicy{Schedule: "@daily"}))
	first := plan.NewStatus(s, steps.Done{}, nil, v1beta2.EtcdClusterStatus{}, 1)
	s.Now = s.Now.Add(time.Minute)
	s.Defragmentation = first.Defragmentation
	if second := plan.NewStatus(s, steps.Done{}, nil, first, 1); !second.Defragmentation.LastScheduleTime.Equal(first.Defragmentation.LastScheduleTime) {
		t.Errorf("%v, then %v", first.Defragmentation, second.Defragmentation)
	}
}

// etcd before 3.6.5 loses the data of a member that is defragmented while it receives a snapshot (etcd-io/etcd#20271). A member receives
// one if it is far behind.
func TestNoMemberIsDefragmentedWhileOneMayReceiveASnapshot(t *testing.T) {
	half := plantest.DefragmentedBy(v1beta2.DefragmentationPolicy{FreePercent: ptr.To[int32](50)})
	applied := func(behind int64) plantest.Change {
		return func(s *state.State) {
			for i := range s.Members {
				s.Members[i].AppliedIndex = 100_000
			}
			s.Members[2].AppliedIndex -= behind
		}
	}
	for name, test := range map[string]struct {
		version string
		behind  int64
		waits   bool
	}{
		"a member is far behind, on an affected release": {"3.6.4", 4000, true},
		"a member is 100 entries behind":                 {"3.6.4", 100, false},
		"the release is not affected":                    {"3.6.16", 4000, false},
	} {
		for what, s := range map[string]state.State{
			"for free space": plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.AllRun(test.version), half, plantest.Database(200, 99), applied(test.behind)),
			"on a schedule":  plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.AllRun(test.version), plantest.Nightly(24*time.Hour), plantest.Database(200, 99), applied(test.behind)),
		} {
			_, defragments := plan.Plan(s).(steps.DefragmentMember)
			if defragments == test.waits {
				t.Errorf("%s, %s: the step is %#v", name, what, plan.Plan(s))
			}
			if _, ended := plan.Plan(s).(steps.EndDefragmentation); ended {
				t.Errorf("%s, %s: a run ends that has not begun", name, what)
			}
		}
	}
}
