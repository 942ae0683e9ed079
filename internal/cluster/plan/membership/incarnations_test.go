package membership_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

func TestAMemberOfTheMembershipIsNoOrphanWhateverItsIncarnation(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), func(s *state.State) { s.Incarnation = 2; plantest.ServicesFor(2, plantest.OldID)(s) })
	for _, m := range s.Members {
		if step, is := membership.RemoveOrphanPods(s).(steps.DeletePod); is && step.Name == m.Name {
			t.Errorf("the Pod of member %s is deleted", m.Name)
		}
	}
	withoutPods := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, plantest.WithoutPod), plantest.With(1, plantest.WithoutPod), plantest.With(2, plantest.WithoutPod), func(s *state.State) { s.Incarnation, s.Spec.Size = 2, 3; plantest.ServicesFor(2, plantest.OldID)(s) })
	if step := membership.DeleteOldVolumes(withoutPods); step != nil {
		t.Errorf("a member's volume is deleted: %+v", step)
	}
}

// The old leader waited 7 s for another old member to take over, and answered its clients with errors until then, although the restored cluster
// served. Each of them lost 7 s more than the others.
func TestThePodsOfAnOverIncarnationStopBriefly(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3))
	s.Incarnation = 2
	for i := range s.Members {
		s.Members[i].Incarnation, s.Members[i].InMembership = 2, true
	}
	s.Members[1].Incarnation, s.Members[1].InMembership = 1, false
	if step, is := membership.RemoveOrphanPods(s).(steps.DeletePod); !is || step.Name != plantest.NameOf(1) || !step.Briefly {
		t.Errorf("the old member is stopped by %+v", step)
	}
	s.Members[1].Incarnation = 2 // removed by a scale-down
	if step, is := membership.RemoveOrphanPods(s).(steps.DeletePod); !is || step.Briefly {
		t.Errorf("a member of the present cluster, which hands over to the others, is stopped by %+v", step)
	}
}

// Half of the restores cost a client 3.5 to 4.6 s: its write waited at an old member whose peers had stopped a millisecond before, until a kubelet
// killed it. If the leader left too, or a member that is not fenced did, the only directories with all data would be those of no cluster.
func TestAnOldMemberLeavesItsFencedClusterBeforeItStops(t *testing.T) {
	const id, cluster = 7, 9
	fence := etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: etcd.FenceID("uid-back")}
	for name, c := range map[string]struct {
		change func(*state.State, *state.Member)
		leaves bool
	}{
		"a fenced follower leaves":                       {func(*state.State, *state.Member) {}, true},
		"the leader does not":                            {func(_ *state.State, m *state.Member) { m.Leader = true }, false},
		"one that is not fenced does not":                {func(_ *state.State, m *state.Member) { m.Alarms = nil }, false},
		"one with the fence of another restore does not": {func(_ *state.State, m *state.Member) { m.Alarms[0].Member = etcd.FenceID("other") }, false},
		"one of another cluster does not":                {func(_ *state.State, m *state.Member) { m.ClusterID = 8 }, false},
		"one that does not answer does not":              {func(_ *state.State, m *state.Member) { m.Answers = false }, false},
		"one without a restore does not":                 {func(s *state.State, _ *state.Member) { s.Restore = nil }, false},
		"one of the present incarnation does not":        {func(_ *state.State, m *state.Member) { m.Incarnation = 2 }, false},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3))
		s.Incarnation = 2
		s.Restore = &v1beta2.ClusterRestoreStatus{UID: "uid-back", ClusterIDBefore: etcd.ID(cluster).String(), Step: v1beta2.RestoreGrowing}
		for i := range s.Members {
			s.Members[i].Incarnation, s.Members[i].InMembership = 2, true
		}
		old := &s.Members[1]
		old.Incarnation, old.InMembership, old.Answers, old.Leader = 1, false, true, false
		old.ID, old.ClusterID, old.Alarms = id, cluster, []etcd.Alarm{fence}
		c.change(&s, old)
		step, is := membership.RemoveOrphanPods(s).(steps.DeletePod)
		if want := map[bool]etcd.ID{true: id}[c.leaves]; !is || step.Name != old.Name || step.Leaves != want {
			t.Errorf("%s: %+v", name, step)
		}
	}
}
